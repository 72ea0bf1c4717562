package server

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"tandem/app/dialect"
	"tandem/engine"
)

// A messageForm is the form of Anthropic's messages, which have one choice.
type messageForm struct{ serverSent }

func (messageForm) idPrefix() string { return "msg_" }

// appendFailure implements framing.
func (m messageForm) appendFailure(dst []byte, f failure) []byte {
	_, body := anthropicFailure(f)
	return m.appendEvent(dst, "error", body)
}

// appendSilence implements framing. A ping may come at any time, also before the message
// begins.
func (m messageForm) appendSilence(dst []byte) []byte {
	return m.appendEvent(dst, "ping", []byte(`{"type":"ping"}`))
}

// signature is what thoughts are signed with. Programs send it back with the thought, and
// nobody looks at it.
const signature = "VGFuZGVt"

// messageUsage counts tokens: the cached ones are none of the input's.
type messageUsage struct {
	Input        int `json:"input_tokens"`
	CacheCreated int `json:"cache_creation_input_tokens"` // always 0: nothing is charged for it
	CacheRead    int `json:"cache_read_input_tokens"`
	Output       int `json:"output_tokens"`
	Details      struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func messageUsageOf(r *reply) messageUsage {
	t := r.total()
	u := messageUsage{Input: t.PromptTokens - t.CachedTokens, CacheRead: t.CachedTokens, Output: t.CompletionTokens}
	u.Details.Thinking = t.thoughts
	return u
}

// whole implements form.
func (m messageForm) whole(r *reply) []byte {
	c := r.choices[0]
	b := m.appendHead(nil, r)
	for i := range c.answer.blocks {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendBlock(b, &c.answer.blocks[i])
	}
	b = m.appendStop(append(b, "],"...), r, c)
	b = appendMember(b, "usage", messageUsageOf(r))
	b = appendMember(b, "timings", r.timings())
	return append(b, '}')
}

// appendHead appends a message up to its content.
func (messageForm) appendHead(dst []byte, r *reply) []byte {
	dst = appendString(append(dst, `{"id":`...), r.id)
	dst = appendString(append(dst, `,"type":"message","role":"assistant","model":`...), r.model.ID())
	return append(dst, `,"content":[`...)
}

// appendBlock appends a block that has come to its end.
func appendBlock(dst []byte, b *block) []byte {
	switch b.kind {
	case dialect.Reasoning:
		dst = appendString(append(dst, `{"type":"thinking","thinking":`...), string(b.text))
		dst = appendString(append(dst, `,"signature":`...), signature)
	case dialect.Call:
		dst = append(appendToolUse(dst, b), inputOf(b)...)
	default:
		dst = appendString(append(dst, `{"type":"text","text":`...), string(b.text))
	}
	return append(dst, '}')
}

// appendToolUse appends a call up to its input.
func appendToolUse(dst []byte, b *block) []byte {
	dst = appendString(append(dst, `{"type":"tool_use","id":`...), b.id)
	dst = appendString(append(dst, `,"name":`...), b.name)
	return append(dst, `,"input":`...)
}

// inputOf returns a call's arguments. Of some that were cut off it has the members that are
// whole, which is what the vendor's libraries make of a stream's; why the answer ended
// tells of the rest.
func inputOf(b *block) []byte {
	if b.args.whole && json.Valid(b.text) {
		return b.text
	}
	out := []byte{'{'}
	d := json.NewDecoder(bytes.NewReader(b.text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return append(out, '}')
	}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		var v json.RawMessage
		if err != nil || !ok || d.Decode(&v) != nil || isNumber(v) && d.InputOffset() == int64(len(b.text)) {
			break
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(appendString(out, key), ':'), v...)
	}
	return append(out, '}')
}

// appendStop appends why a choice ended.
func (messageForm) appendStop(dst []byte, r *reply, c *choice) []byte {
	dst = appendString(append(dst, `"stop_reason":`...), stopReason(r, c))
	if c.stopped == "" {
		return append(dst, `,"stop_sequence":null`...)
	}
	return appendString(append(dst, `,"stop_sequence":`...), c.stopped)
}

// stopReason says it in Anthropic's words. What was cancelled from the menu ends like
// what was cut short by its limit.
func stopReason(r *reply, c *choice) string {
	switch room := r.model.ContextLength() - len(c.prompt.ids); {
	case c.stopped != "":
		return "stop_sequence"
	case c.calls():
		return "tool_use"
	case c.finish == engine.FinishStop:
		return "end_turn"
	case context.Cause(r.run.ctx) != errRunCancelled && room < *r.params.maxTokens:
		return "model_context_window_exceeded"
	}
	return "max_tokens"
}

// stream implements form.
func (m messageForm) stream(rep *reply, out *eventStream) events {
	return &messageEvents{form: m, rep: rep, out: out}
}

// messageEvents are the events of a message: its blocks come one after the other.
type messageEvents struct {
	form  messageForm
	rep   *reply
	out   *eventStream
	began bool
	open  bool // a block is
	index int  // of that block, or of the next
	kind  dialect.Kind
	buf   []byte
}

// add implements events.
func (e *messageEvents) add(c *choice, _ []engine.Token, parts []dialect.Part) {
	e.begin(c)
	for _, p := range parts {
		kind := p.Kind
		if kind == dialect.Arguments {
			kind = dialect.Call
		}
		if !e.open || kind != e.kind || p.Kind == dialect.Call {
			e.stop()
			e.start(c, kind, p.Index)
		}
		switch p.Kind {
		case dialect.Reasoning:
			e.delta("thinking_delta", "thinking", p.Text)
		case dialect.Arguments:
			e.delta("input_json_delta", "partial_json", p.Text)
		case dialect.Text:
			e.delta("text_delta", "text", p.Text)
		}
	}
}

// begin sends the message without its content, once. How much of the prompt was cached is
// known at the end, so that all of it counts as input until then.
func (e *messageEvents) begin(c *choice) {
	if e.began {
		return
	}
	e.began = true
	b := e.form.appendHead(append(e.buf[:0], `{"type":"message_start","message":`...), e.rep)
	b = append(b, `],"stop_reason":null,"stop_sequence":null`...)
	e.buf = append(appendMember(b, "usage", messageUsage{Input: len(c.prompt.ids)}), "}}"...)
	e.send("message_start")
}

// start begins a block; index is a call's.
func (e *messageEvents) start(c *choice, kind dialect.Kind, index int) {
	e.open, e.kind = true, kind
	e.head("content_block_start", "content_block")
	switch kind {
	case dialect.Reasoning:
		e.buf = append(e.buf, `{"type":"thinking","thinking":"","signature":""`...)
	case dialect.Call:
		e.buf = append(appendToolUse(e.buf, c.answer.call(index)), "{}"...)
	default:
		e.buf = append(e.buf, `{"type":"text","text":""`...)
	}
	e.buf = append(e.buf, "}}"...)
	e.send("content_block_start")
}

// stop ends the block, if one is open.
func (e *messageEvents) stop() {
	if !e.open {
		return
	}
	if e.kind == dialect.Reasoning {
		e.delta("signature_delta", "signature", signature)
	}
	e.buf = strconv.AppendInt(append(e.buf[:0], `{"type":"content_block_stop","index":`...), int64(e.index), 10)
	e.buf = append(e.buf, '}')
	e.send("content_block_stop")
	e.open = false
	e.index++
}

// delta sends a piece of the block.
func (e *messageEvents) delta(kind, name, text string) {
	e.head("content_block_delta", "delta")
	e.buf = appendString(append(e.buf, `{"type":`...), kind)
	e.buf = appendString(append(e.buf, ','), name)
	e.buf = append(appendString(append(e.buf, ':'), text), "}}"...)
	e.send("content_block_delta")
}

// head begins an event of the block, up to the value of what it is about.
func (e *messageEvents) head(event, name string) {
	e.buf = appendString(append(e.buf[:0], `{"type":`...), event)
	e.buf = strconv.AppendInt(append(e.buf, `,"index":`...), int64(e.index), 10)
	e.buf = append(appendString(append(e.buf, ','), name), ':')
}

// end implements events.
func (e *messageEvents) end(c *choice) {
	e.begin(c)
	e.stop()
	e.buf = e.form.appendStop(append(e.buf[:0], `{"type":"message_delta","delta":{`...), e.rep, c)
	e.buf = appendMember(append(e.buf, '}'), "usage", messageUsageOf(e.rep))
	e.buf = append(appendMember(e.buf, "timings", e.rep.timings()), '}')
	e.send("message_delta")
}

// finish implements events.
func (e *messageEvents) finish() {
	e.rep.release()
	e.buf = append(e.buf[:0], `{"type":"message_stop"}`...)
	e.send("message_stop")
}

func (e *messageEvents) send(event string) { e.rep.send(e.out, event, e.buf) }
