package anthropic

import (
	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

func (m messageFormat) Stream(rep *api.Reply, out *wire.EventStream) api.Events {
	return &messageEvents{rep: rep, out: out}
}

// messageEvents are the events of a message. Its blocks come one after the other.
type messageEvents struct {
	rep   *api.Reply
	out   *wire.EventStream
	began bool
	open  bool // a block is open
	index int  // of the open block, or of the next
	kind  dialect.Kind
	json  wire.Encoder
}

func (e *messageEvents) Begin(c *api.Choice) { e.begin(c) }

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
			e.delta(thinkingDelta{"thinking_delta", p.Text})
		case dialect.Arguments:
			e.delta(inputDelta{"input_json_delta", p.Text})
		case dialect.Text:
			e.delta(textDelta{"text_delta", p.Text})
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
	e.send("message_start", messageStart{"message_start", begunMessage{
		messageHead: headOf(e.rep), Usage: MessageUsage{Input: len(c.Prompt.IDs)}}})
}

// start begins a block. index is that of a call.
func (e *messageEvents) start(c *api.Choice, kind dialect.Kind, index int) {
	e.open, e.kind = true, kind
	b := block{textBlock{Type: "text"}}
	switch kind {
	case dialect.Reasoning:
		b = block{thinkingBlock{Type: "thinking"}}
	case dialect.Call:
		call := c.Answer.Call(index)
		b = block{toolUse{"tool_use", call.ID, call.Name, wire.RawObject("{}")}}
	}
	e.send("content_block_start", blockStart{"content_block_start", e.index, b})
}

// stop ends the block, if one is open.
func (e *messageEvents) stop() {
	if !e.open {
		return
	}
	if e.kind == dialect.Reasoning {
		e.delta(signatureDelta{"signature_delta", signature})
	}
	e.send("content_block_stop", blockStop{"content_block_stop", e.index})
	e.open = false
	e.index++
}

// delta sends a piece of the open block.
func (e *messageEvents) delta(of any) {
	e.send("content_block_delta", blockDelta{"content_block_delta", e.index, delta{of}})
}

func (e *messageEvents) End(c *api.Choice) {
	e.begin(c)
	if len(c.Answer.Blocks) == 0 {
		e.start(c, silent.Kind, 0)
	}
	e.stop()
	e.send("message_delta",
		messageDelta{"message_delta", stopOf(e.rep, c), messageUsageOf(e.rep), e.rep.Timings()})
}

func (e *messageEvents) Finish() {
	e.rep.Release()
	e.send("message_stop", messageStop{"message_stop"})
}

func (e *messageEvents) send(name string, event any) { e.rep.Send(e.out, name, e.json.Encode(event)) }
