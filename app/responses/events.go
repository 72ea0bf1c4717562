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
	form *responseFormat
	rep  *api.Reply
	out  *wire.EventStream

	mu    sync.Mutex // guards what follows; held until an event is queued, so that they are in order
	now   response   // while it is in progress
	known bool       // now has the model and its sampling
	begun bool
	ended bool
	next  int // sequence number

	at           int // index of the item, -1 before the first
	id           string
	open         bool // the item is open
	logprobsSent int  // for how many tokens of the item
	json         wire.Encoder
}

// Wait implements api.WaitingFormat. Programs give up after some minutes without an event, so that the
// sign that more is to come is one.
func (f *responseFormat) Wait(rep *api.Reply, out *wire.EventStream) {
	f.events = &itemEvents{form: f, rep: rep, out: out, at: -1,
		now: f.response(rep, InProgress, nil)}
	out.Wait = f.events.wait
}

func (f *responseFormat) Stream(*api.Reply, *wire.EventStream) api.Events { return f.events }

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

// number returns the next event's number.
func (e *itemEvents) number() int {
	e.next++
	return e.next - 1
}

// send sends an event, which has its kind too.
func (e *itemEvents) send(kind string, event any) { e.rep.Send(e.out, kind, e.json.Encode(event)) }

// whole sends an event with the response.
func (e *itemEvents) whole(kind string, r response) {
	e.send(kind, responseEvent{kind, e.number(), r})
}

// begin sends the first events, once. Before them a failure is an answer of its own.
func (e *itemEvents) begin() {
	if !e.known { // until then the response had the names of the request
		e.known, e.now = true, e.form.response(e.rep, InProgress, nil)
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

func (e *itemEvents) Begin(*api.Choice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin()
}

func (e *itemEvents) Add(c *api.Choice, _ []engine.Token, parts []dialect.Part) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin()
	for _, p := range parts {
		switch {
		case p.Kind == dialect.Arguments, p.Kind == dialect.Call && !e.form.hasItem(c.Answer.Call(p.Index)):
			continue
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
	e.id = e.form.blockID(e.rep, e.at, b)
	e.item("response.output_item.added", b, InProgress)
	if b.Kind != dialect.Call {
		e.part("response.content_part.added", b, "", nil)
	}
}

func (e *itemEvents) item(kind string, b *api.Block, status string) {
	e.send(kind, itemEvent{kind, e.number(), e.at, e.form.item(e.rep, e.at, b, status)})
}

func (e *itemEvents) part(kind string, b *api.Block, text string, toks []engine.Token) {
	e.send(kind, partEvent{kind, e.contentPlace(), e.form.part(e.rep, b, text, toks)})
}

// place returns the place of the next event of the open item.
func (e *itemEvents) place() itemPlace { return itemPlace{e.number(), e.id, e.at} }

func (e *itemEvents) contentPlace() contentPlace { return contentPlace{itemPlace: e.place()} }

func (e *itemEvents) delta(b *api.Block, text string) {
	switch b.Kind {
	case dialect.Call: // its kind sends the arguments
	case dialect.Reasoning:
		const kind = "response.reasoning_text.delta"
		e.send(kind, reasoningDelta{kind, e.contentPlace(), text})
	default:
		const kind = "response.output_text.delta"
		e.send(kind, textDelta{kind, e.contentPlace(), text,
			e.form.logprobs(e.rep, b.Tokens[e.logprobsSent:])})
		e.logprobsSent = len(b.Tokens)
	}
}

// close ends the item that is open, if there is one. last says that no item follows.
func (e *itemEvents) close(c *api.Choice, last bool) {
	if !e.open {
		return
	}
	e.open = false
	b := e.form.blocks(c)[e.at]
	switch text := string(b.Text); b.Kind {
	case dialect.Call:
		tool := e.form.tool(b)
		if tool.kind.events == nil {
			break
		}
		for _, event := range tool.kind.events(e.place, tool.toolName, b.Text) {
			e.send(event.kind, event.event)
		}
	case dialect.Reasoning:
		const kind = "response.reasoning_text.done"
		e.send(kind, reasoningDone{kind, e.contentPlace(), text})
	default:
		const kind = "response.output_text.done"
		e.send(kind, textDone{kind, e.contentPlace(), text, e.form.logprobs(e.rep, b.Tokens)})
	}
	if b.Kind != dialect.Call {
		e.part("response.content_part.done", b, string(b.Text), b.Tokens)
	}
	e.item("response.output_item.done", b, e.form.ended(c, b, last))
}

func (e *itemEvents) End(c *api.Choice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin()
	if e.at < 0 {
		e.opens(c)
	}
	e.close(c, true)
}

func (e *itemEvents) Finish() {
	last := e.form.final(e.rep) // takes a while: the response is stored
	e.rep.Release()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.whole("response."+state(e.rep.Choices[0]), last)
}

// AppendFailure implements wire.Framing. By then nothing is sent except what was queued.
func (f *responseFormat) AppendFailure(dst []byte, fail wire.Failure) []byte {
	e := f.events
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	event := func(kind, status string, fail *wire.Failure) {
		r := f.response(e.rep, status, fail)
		r.Store = r.Store && status != failed
		dst = f.AppendEvent(dst, kind, wire.Encode(responseEvent{kind, e.number(), r}))
	}
	if !e.begun {
		event("response.created", InProgress, nil)
		event("response.in_progress", InProgress, nil)
	}
	event("response.failed", failed, &fail)
	return dst
}
