package server

import (
	"tandem/app/dialect"
	"tandem/engine"
)

// itemEvents tell how the items of a response grow, one after the other.
type itemEvents struct {
	form  *responseForm
	rep   *reply
	out   *eventStream
	next  int // sequence number
	begun bool
	at    int  // of the item, -1 before the first
	open  bool // it goes on
	told  int  // tokens of it whose log-probabilities are out
	buf   []byte
}

// stream implements form.
func (f *responseForm) stream(rep *reply, out *eventStream) events {
	f.events = &itemEvents{form: f, rep: rep, out: out, at: -1}
	return f.events
}

// start starts an event in the buffer.
func (e *itemEvents) start(kind string) {
	e.buf = appendString(append(e.buf[:0], `{"type":`...), kind)
	e.buf = appendIndex(e.buf, "sequence_number", e.next)
	e.next++
}

// send ends the event.
func (e *itemEvents) send(kind string) {
	e.buf = append(e.buf, '}')
	e.rep.send(e.out, kind, e.buf)
}

// whole sends an event with the response.
func (e *itemEvents) whole(kind string, response []byte) {
	e.start(kind)
	e.buf = append(append(e.buf, `,"response":`...), response...)
	e.send(kind)
}

// begin sends the first events once. Until then a failure is an answer of its own.
func (e *itemEvents) begin() {
	if e.begun {
		return
	}
	e.begun = true
	now := e.form.appendResponse(nil, e.rep, inProgress, e.form.req.store, nil)
	e.whole("response.created", now)
	e.whole("response.in_progress", now)
}

// add implements events.
func (e *itemEvents) add(c *choice, _ []engine.Token, parts []dialect.Part) {
	e.begin()
	for _, p := range parts {
		switch {
		case p.Kind == dialect.Arguments:
		case p.Kind == dialect.Call, !e.open, c.answer.blocks[e.at].kind != p.Kind:
			e.close(c, false)
			e.opens(c)
		}
		if p.Text != "" {
			e.delta(&c.answer.blocks[e.at], p.Text)
		}
	}
}

// opens begins the next item.
func (e *itemEvents) opens(c *choice) {
	e.at++
	e.open, e.told = true, 0
	b := e.form.blocks(c)[e.at]
	e.item("response.output_item.added", b, inProgress)
	if b.kind != dialect.Call {
		e.part("response.content_part.added", b, "", nil)
	}
}

func (e *itemEvents) item(kind string, b *block, status string) {
	e.start(kind)
	e.buf = append(appendIndex(e.buf, "output_index", e.at), `,"item":`...)
	e.buf = e.form.appendItem(e.buf, e.rep, e.at, b, status)
	e.send(kind)
}

func (e *itemEvents) part(kind string, b *block, text string, toks []engine.Token) {
	e.startOf(kind, b)
	e.buf = e.form.appendPart(append(e.buf, `,"part":`...), e.rep, b, text, toks)
	e.send(kind)
}

// startOf starts an event of the item that is open.
func (e *itemEvents) startOf(kind string, b *block) {
	e.start(kind)
	e.buf = appendString(append(e.buf, `,"item_id":`...), blockID(e.rep, e.at, b))
	e.buf = appendIndex(e.buf, "output_index", e.at)
	if b.kind != dialect.Call {
		e.buf = appendIndex(e.buf, "content_index", 0)
	}
}

// The names of events of text, by what it is of.
var textEvents = map[dialect.Kind]string{
	dialect.Text:      "response.output_text",
	dialect.Reasoning: "response.reasoning_text",
	dialect.Call:      "response.function_call_arguments",
}

func (e *itemEvents) delta(b *block, text string) {
	kind := textEvents[b.kind] + ".delta"
	e.startOf(kind, b)
	e.buf = appendString(append(e.buf, `,"delta":`...), text)
	if b.kind == dialect.Text {
		e.buf = e.form.appendLogprobs(append(e.buf, `,"logprobs":`...), e.rep, b.toks[e.told:])
		e.told = len(b.toks)
	}
	e.send(kind)
}

// close ends the item that is open, if one is. last is whether nothing follows.
func (e *itemEvents) close(c *choice, last bool) {
	if !e.open {
		return
	}
	e.open = false
	b := e.form.blocks(c)[e.at]
	kind := textEvents[b.kind] + ".done"
	e.startOf(kind, b)
	switch b.kind {
	case dialect.Call:
		e.buf = e.form.appendName(e.buf, b.name)
		e.buf = appendString(append(e.buf, `,"arguments":`...), string(b.text))
	case dialect.Text:
		e.buf = appendString(append(e.buf, `,"text":`...), string(b.text))
		e.buf = e.form.appendLogprobs(append(e.buf, `,"logprobs":`...), e.rep, b.toks)
	default:
		e.buf = appendString(append(e.buf, `,"text":`...), string(b.text))
	}
	e.send(kind)
	if b.kind != dialect.Call {
		e.part("response.content_part.done", b, string(b.text), b.toks)
	}
	e.item("response.output_item.done", b, ended(c, b, last))
}

// end implements events.
func (e *itemEvents) end(c *choice) {
	e.begin()
	if len(c.answer.blocks) == 0 {
		e.opens(c)
	}
	e.close(c, true)
}

// finish implements events.
func (e *itemEvents) finish() {
	last := e.form.final(e.rep)
	e.rep.release()
	e.whole("response."+state(e.rep.choices[0]), last)
}

// appendFailure implements framing. Nothing is sent by then but what was queued.
func (f *responseForm) appendFailure(dst []byte, fail failure) []byte {
	e := f.events
	event := func(kind, status string, fail *failure) {
		b := appendString([]byte(`{"type":`), kind)
		b = appendIndex(b, "sequence_number", e.next)
		e.next++
		b = f.appendResponse(append(b, `,"response":`...), e.rep, status, f.req.store && status != failed, fail)
		dst = f.appendEvent(dst, kind, append(b, '}'))
	}
	if !e.begun { // it was told that something is to come, no more
		event("response.created", inProgress, nil)
		event("response.in_progress", inProgress, nil)
	}
	event("response.failed", failed, &fail)
	return dst
}
