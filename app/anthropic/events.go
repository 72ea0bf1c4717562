package anthropic

import (
	"strconv"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

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

// Begin implements api.Events.
func (e *messageEvents) Begin(c *api.Choice) { e.begin(c) }

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

// begin sends the message without its content, once: before a long prompt is read, because programs
// wait for a first event. The cached part of the prompt is known only at the end, so until then all
// of it counts as input.
func (e *messageEvents) begin(c *api.Choice) {
	if e.began {
		return
	}
	e.began = true
	b := e.form.appendHead(append(e.buf[:0], `{"type":"message_start","message":`...), e.rep)
	b = append(b, `],"stop_reason":null,"stop_sequence":null`...)
	e.buf = append(wire.AppendMember(b, "usage", MessageUsage{Input: len(c.Prompt.IDs)}), "}}"...)
	e.send("message_start")
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
	e.buf = strconv.AppendInt(append(e.buf[:0], `{"type":"content_block_stop","index":`...),
		int64(e.index), 10)
	e.buf = append(e.buf, '}')
	e.send("content_block_stop")
	e.open = false
	e.index++
}

// delta sends a piece of the open block.
func (e *messageEvents) delta(kind, name, text string) {
	e.head("content_block_delta", "delta")
	e.buf = wire.AppendString(append(e.buf, `{"type":`...), kind)
	e.buf = wire.AppendString(append(e.buf, ','), name)
	e.buf = append(wire.AppendString(append(e.buf, ':'), text), "}}"...)
	e.send("content_block_delta")
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
	if len(c.Answer.Blocks) == 0 {
		e.start(c, silent.Kind, 0)
	}
	e.stop()
	e.buf = e.form.appendStop(append(e.buf[:0], `{"type":"message_delta","delta":{`...), e.rep, c)
	e.buf = wire.AppendMember(append(e.buf, '}'), "usage", messageUsageOf(e.rep))
	e.buf = append(wire.AppendMember(e.buf, "timings", e.rep.Timings()), '}')
	e.send("message_delta")
}

// Finish implements api.Events.
func (e *messageEvents) Finish() {
	e.rep.Release()
	e.buf = append(e.buf[:0], `{"type":"message_stop"}`...)
	e.send("message_stop")
}

func (e *messageEvents) send(event string) { e.rep.Send(e.out, event, e.buf) }
