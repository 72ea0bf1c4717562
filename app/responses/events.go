package responses

import (
	"sync"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// itemEvents are the events of a response. Its items grow one after the other.
type itemEvents struct {
	form *responseForm
	rep  *api.Reply
	out  *wire.EventStream

	mu    sync.Mutex // guards what follows; held until an event is queued, so that they are in order
	now   []byte     // the response while it is in progress
	known bool       // now has the model and its sampling
	begun bool
	ended bool
	next  int // sequence number

	at           int  // index of the item, -1 before the first
	open         bool // the item is open
	logprobsSent int  // for how many tokens of the item
	buf          []byte
}

// Wait implements api.WaitingForm. Programs count events and give up after some minutes without one,
// so that the sign that more is to come is an event too.
func (f *responseForm) Wait(rep *api.Reply, out *wire.EventStream) {
	f.events = &itemEvents{form: f, rep: rep, out: out, at: -1,
		now: f.appendResponse(nil, rep, InProgress, f.req.store, nil)}
	out.Wait = f.events.wait
}

// Stream implements api.Form.
func (f *responseForm) Stream(*api.Reply, *wire.EventStream) api.Events { return f.events }

// wait says that more is to come.
func (e *itemEvents) wait() {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.ended:
	case e.begun:
		e.whole("response.in_progress", e.now)
	default:
		e.create()
	}
}

// start starts an event in the buffer.
func (e *itemEvents) start(kind string) {
	e.buf = wire.AppendString(append(e.buf[:0], `{"type":`...), kind)
	e.buf = appendIndex(e.buf, "sequence_number", e.next)
	e.next++
}

// send completes the event and sends it.
func (e *itemEvents) send(kind string) {
	e.buf = append(e.buf, '}')
	e.rep.Send(e.out, kind, e.buf)
}

// whole sends an event with the response.
func (e *itemEvents) whole(kind string, response []byte) {
	e.start(kind)
	e.buf = append(append(e.buf, `,"response":`...), response...)
	e.send(kind)
}

// begin sends the first events, once. Before them a failure is an answer of its own.
func (e *itemEvents) begin() {
	if !e.known { // until then the response had the names of the request
		e.known, e.now = true,
			e.form.appendResponse(nil, e.rep, InProgress, e.form.req.store, nil)
	}
	e.create()
}

// create tells of the response, once.
func (e *itemEvents) create() {
	if e.begun {
		return
	}
	e.begun = true
	e.whole("response.created", e.now)
	e.whole("response.in_progress", e.now)
}

// Begin implements api.Events.
func (e *itemEvents) Begin(*api.Choice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin()
}

// Add implements api.Events.
func (e *itemEvents) Add(c *api.Choice, _ []engine.Token, parts []dialect.Part) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin()
	for _, p := range parts {
		switch {
		case p.Kind == dialect.Arguments:
		case p.Kind == dialect.Call, !e.open, c.Answer.Blocks[e.at].Kind != p.Kind:
			e.close(c, false)
			e.opens(c)
		}
		if p.Text != "" {
			e.delta(&c.Answer.Blocks[e.at], p.Text)
		}
	}
}

// opens begins the next item.
func (e *itemEvents) opens(c *api.Choice) {
	e.at++
	e.open, e.logprobsSent = true, 0
	b := e.form.blocks(c)[e.at]
	e.item("response.output_item.added", b, InProgress)
	if b.Kind != dialect.Call {
		e.part("response.content_part.added", b, "", nil)
	}
}

func (e *itemEvents) item(kind string, b *api.Block, status string) {
	e.start(kind)
	e.buf = append(appendIndex(e.buf, "output_index", e.at), `,"item":`...)
	e.buf = e.form.appendItem(e.buf, e.rep, e.at, b, status)
	e.send(kind)
}

func (e *itemEvents) part(kind string, b *api.Block, text string, toks []engine.Token) {
	e.startOf(kind, b)
	e.buf = e.form.appendPart(append(e.buf, `,"part":`...), e.rep, b, text, toks)
	e.send(kind)
}

// startOf starts an event of the open item.
func (e *itemEvents) startOf(kind string, b *api.Block) {
	e.start(kind)
	e.buf = wire.AppendString(append(e.buf, `,"item_id":`...), blockID(e.rep, e.at, b))
	e.buf = appendIndex(e.buf, "output_index", e.at)
	if b.Kind != dialect.Call {
		e.buf = appendIndex(e.buf, "content_index", 0)
	}
}

// textEvents are the names of text events, by the kind of the text.
var textEvents = map[dialect.Kind]string{
	dialect.Text:      "response.output_text",
	dialect.Reasoning: "response.reasoning_text",
	dialect.Call:      "response.function_call_arguments",
}

func (e *itemEvents) delta(b *api.Block, text string) {
	kind := textEvents[b.Kind] + ".delta"
	e.startOf(kind, b)
	e.buf = wire.AppendString(append(e.buf, `,"delta":`...), text)
	if b.Kind == dialect.Text {
		e.buf = append(e.buf, `,"logprobs":`...)
		e.buf = e.form.appendLogprobs(e.buf, e.rep, b.Tokens[e.logprobsSent:])
		e.logprobsSent = len(b.Tokens)
	}
	e.send(kind)
}

// close ends the item that is open, if there is one. last says that no item follows.
func (e *itemEvents) close(c *api.Choice, last bool) {
	if !e.open {
		return
	}
	e.open = false
	b := e.form.blocks(c)[e.at]
	kind := textEvents[b.Kind] + ".done"
	e.startOf(kind, b)
	switch b.Kind {
	case dialect.Call:
		e.buf = e.form.appendName(e.buf, b.Name)
		e.buf = wire.AppendString(append(e.buf, `,"arguments":`...), string(b.Text))
	case dialect.Text:
		e.buf = wire.AppendString(append(e.buf, `,"text":`...), string(b.Text))
		e.buf = e.form.appendLogprobs(append(e.buf, `,"logprobs":`...), e.rep, b.Tokens)
	default:
		e.buf = wire.AppendString(append(e.buf, `,"text":`...), string(b.Text))
	}
	e.send(kind)
	if b.Kind != dialect.Call {
		e.part("response.content_part.done", b, string(b.Text), b.Tokens)
	}
	e.item("response.output_item.done", b, ended(c, b, last))
}

// End implements api.Events.
func (e *itemEvents) End(c *api.Choice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin()
	if len(c.Answer.Blocks) == 0 {
		e.opens(c)
	}
	e.close(c, true)
}

// Finish implements api.Events.
func (e *itemEvents) Finish() {
	last := e.form.final(e.rep) // takes a while: the response is stored
	e.rep.Release()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.whole("response."+state(e.rep.Choices[0]), last)
}

// AppendFailure implements wire.Framing. By then nothing is sent except what was queued.
func (f *responseForm) AppendFailure(dst []byte, fail wire.Failure) []byte {
	e := f.events
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	event := func(kind, status string, fail *wire.Failure) {
		b := wire.AppendString([]byte(`{"type":`), kind)
		b = appendIndex(b, "sequence_number", e.next)
		e.next++
		kept := f.req.store && status != failed
		b = f.appendResponse(append(b, `,"response":`...), e.rep, status, kept, fail)
		dst = f.AppendEvent(dst, kind, append(b, '}'))
	}
	if !e.begun {
		event("response.created", InProgress, nil)
		event("response.in_progress", InProgress, nil)
	}
	event("response.failed", failed, &fail)
	return dst
}
