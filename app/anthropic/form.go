package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A messageForm is the form of Anthropic's messages, which have one choice.
type messageForm struct{ wire.ServerSent }

func (messageForm) IDPrefix() string { return "msg_" }

// AppendFailure implements wire.Framing.
func (m messageForm) AppendFailure(dst []byte, f wire.Failure) []byte {
	_, body := wire.AnthropicFailure(f)
	return m.AppendEvent(dst, "error", body)
}

// AppendSilence implements wire.Framing. It sends a ping, which may come at any time, also before
// the message begins.
func (m messageForm) AppendSilence(dst []byte) []byte {
	return m.AppendEvent(dst, "ping", []byte(`{"type":"ping"}`))
}

// signature is the signature of every thought. Programs send it back with the thought, and Tandem
// does not check it.
const signature = "VGFuZGVt"

// MessageUsage counts tokens. Cached tokens are not part of the input.
type MessageUsage struct {
	Input        int `json:"input_tokens" doc:"That were computed."`
	CacheCreated int `json:"cache_creation_input_tokens"` // always 0: Tandem charges nothing for it
	CacheRead    int `json:"cache_read_input_tokens"`
	Output       int `json:"output_tokens"`
	Details      struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func messageUsageOf(r *api.Reply) MessageUsage {
	t := r.Total()
	u := MessageUsage{Input: t.PromptTokens - t.CachedTokens, CacheRead: t.CachedTokens, Output: t.CompletionTokens}
	u.Details.Thinking = t.Thoughts
	return u
}

// Whole implements api.Form.
func (m messageForm) Whole(r *api.Reply) []byte {
	c := r.Choices[0]
	b := m.appendHead(nil, r)
	for i := range c.Answer.Blocks {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendBlock(b, &c.Answer.Blocks[i])
	}
	b = m.appendStop(append(b, "],"...), r, c)
	b = wire.AppendMember(b, "usage", messageUsageOf(r))
	b = wire.AppendMember(b, "timings", r.Timings())
	return append(b, '}')
}

// appendHead appends a message up to its content.
func (messageForm) appendHead(dst []byte, r *api.Reply) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), r.ID)
	dst = wire.AppendString(append(dst, `,"type":"message","role":"assistant","model":`...), r.Model.ID())
	return append(dst, `,"content":[`...)
}

// appendBlock appends a block that has ended.
func appendBlock(dst []byte, b *api.Block) []byte {
	switch b.Kind {
	case dialect.Reasoning:
		dst = wire.AppendString(append(dst, `{"type":"thinking","thinking":`...), string(b.Text))
		dst = wire.AppendString(append(dst, `,"signature":`...), signature)
	case dialect.Call:
		dst = append(appendToolUse(dst, b), inputOf(b)...)
	default:
		dst = wire.AppendString(append(dst, `{"type":"text","text":`...), string(b.Text))
	}
	return append(dst, '}')
}

// appendToolUse appends a call up to its input.
func appendToolUse(dst []byte, b *api.Block) []byte {
	dst = wire.AppendString(append(dst, `{"type":"tool_use","id":`...), b.ID)
	dst = wire.AppendString(append(dst, `,"name":`...), b.Name)
	return append(dst, `,"input":`...)
}

// inputOf returns a call's arguments. If they were cut off, it returns only the complete members,
// as the vendor's libraries do with a stream. The stop reason says that the rest is missing.
func inputOf(b *api.Block) []byte {
	if b.Args.Whole && json.Valid(b.Text) {
		return b.Text
	}
	out := []byte{'{'}
	d := json.NewDecoder(bytes.NewReader(b.Text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return append(out, '}')
	}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		var v json.RawMessage
		if err != nil || !ok || d.Decode(&v) != nil || wire.IsNumber(v) && d.InputOffset() == int64(len(b.Text)) {
			break
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(wire.AppendString(out, key), ':'), v...)
	}
	return append(out, '}')
}

// appendStop appends the reason why a choice ended.
func (messageForm) appendStop(dst []byte, r *api.Reply, c *api.Choice) []byte {
	dst = wire.AppendString(append(dst, `"stop_reason":`...), stopReason(r, c))
	if c.Stopped == "" {
		return append(dst, `,"stop_sequence":null`...)
	}
	return wire.AppendString(append(dst, `,"stop_sequence":`...), c.Stopped)
}

// stopReason returns the reason in Anthropic's words. A run that is cancelled from the menu ends
// like one that a limit cuts short.
func stopReason(r *api.Reply, c *api.Choice) string {
	switch room := r.Model.ContextLength() - len(c.Prompt.IDs); {
	case c.Stopped != "":
		return "stop_sequence"
	case c.Calls():
		return "tool_use"
	case c.Finish == engine.FinishStop:
		return "end_turn"
	case context.Cause(r.Run.Ctx) != wire.ErrRunCancelled && room < *r.Params.MaxTokens:
		return "model_context_window_exceeded"
	}
	return "max_tokens"
}

// Stream implements api.Form.
func (m messageForm) Stream(rep *api.Reply, out *wire.EventStream) api.Events {
	return &messageEvents{form: m, rep: rep, out: out}
}

// messageEvents are the events of a message. Its blocks come one after the other.
type messageEvents struct {
	form  messageForm
	rep   *api.Reply
	out   *wire.EventStream
	began bool
	open  bool // a block is open
	index int  // of the open block, or of the next
	kind  dialect.Kind
	buf   []byte
}

// Add implements api.Events.
func (e *messageEvents) Add(c *api.Choice, _ []engine.Token, parts []dialect.Part) {
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

// begin sends the message without its content, once. The cached part of the prompt is known only at
// the end, so until then all of it counts as input.
func (e *messageEvents) begin(c *api.Choice) {
	if e.began {
		return
	}
	e.began = true
	b := e.form.appendHead(append(e.buf[:0], `{"type":"message_start","message":`...), e.rep)
	b = append(b, `],"stop_reason":null,"stop_sequence":null`...)
	e.buf = append(wire.AppendMember(b, "usage", MessageUsage{Input: len(c.Prompt.IDs)}), "}}"...)
	e.Send("message_start")
}

// start begins a block. index is that of a call.
func (e *messageEvents) start(c *api.Choice, kind dialect.Kind, index int) {
	e.open, e.kind = true, kind
	e.head("content_block_start", "content_block")
	switch kind {
	case dialect.Reasoning:
		e.buf = append(e.buf, `{"type":"thinking","thinking":"","signature":""`...)
	case dialect.Call:
		e.buf = append(appendToolUse(e.buf, c.Answer.Call(index)), "{}"...)
	default:
		e.buf = append(e.buf, `{"type":"text","text":""`...)
	}
	e.buf = append(e.buf, "}}"...)
	e.Send("content_block_start")
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
	e.Send("content_block_stop")
	e.open = false
	e.index++
}

// delta sends a piece of the open block.
func (e *messageEvents) delta(kind, name, text string) {
	e.head("content_block_delta", "delta")
	e.buf = wire.AppendString(append(e.buf, `{"type":`...), kind)
	e.buf = wire.AppendString(append(e.buf, ','), name)
	e.buf = append(wire.AppendString(append(e.buf, ':'), text), "}}"...)
	e.Send("content_block_delta")
}

// head begins an event of the open block. The caller appends the event's content.
func (e *messageEvents) head(event, name string) {
	e.buf = wire.AppendString(append(e.buf[:0], `{"type":`...), event)
	e.buf = strconv.AppendInt(append(e.buf, `,"index":`...), int64(e.index), 10)
	e.buf = append(wire.AppendString(append(e.buf, ','), name), ':')
}

// End implements api.Events.
func (e *messageEvents) End(c *api.Choice) {
	e.begin(c)
	e.stop()
	e.buf = e.form.appendStop(append(e.buf[:0], `{"type":"message_delta","delta":{`...), e.rep, c)
	e.buf = wire.AppendMember(append(e.buf, '}'), "usage", messageUsageOf(e.rep))
	e.buf = append(wire.AppendMember(e.buf, "timings", e.rep.Timings()), '}')
	e.Send("message_delta")
}

// Finish implements api.Events.
func (e *messageEvents) Finish() {
	e.rep.Release()
	e.buf = append(e.buf[:0], `{"type":"message_stop"}`...)
	e.Send("message_stop")
}

func (e *messageEvents) Send(event string) { e.rep.Send(e.out, event, e.buf) }
