package openai

import (
	"strconv"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// chatMembers are the members of chat completions.
type chatMembers struct {
	// functions puts a call where the older API has its only call. It is set for a request that
	// offered functions and not tools.
	functions bool
}

func (chatMembers) IDPrefix() string { return "chatcmpl-" }

func (chatMembers) Object(chunk bool) string {
	if chunk {
		return "chat.completion.chunk"
	}
	return "chat.completion"
}

// appendWhole appends a choice's message. The content is null only if there are calls in its place.
func (m chatMembers) appendWhole(dst []byte, c *api.Choice) []byte {
	text, calls := c.Answer.Joined(dialect.Text), c.Answer.Calls()
	dst = append(dst, `"message":{"role":"assistant","content":`...)
	if text == "" && len(calls) > 0 {
		dst = append(dst, "null"...)
	} else {
		dst = wire.AppendString(dst, text)
	}
	dst = append(dst, `,"refusal":null`...)
	if thought := c.Answer.Joined(dialect.Reasoning); thought != "" {
		dst = appendThought(append(dst, ','), thought)
	}
	for i, b := range calls {
		switch {
		case m.functions:
			dst = append(dst, `,"function_call":{"name":`...)
		case i == 0:
			dst = appendCall(append(dst, `,"tool_calls":[{`...), b)
		default:
			dst = appendCall(append(dst, `,{`...), b)
		}
		dst = wire.AppendString(dst, b.Name)
		dst = wire.AppendString(append(dst, `,"arguments":`...), string(b.Text))
		if dst = append(dst, '}'); m.functions {
			break
		}
		dst = append(dst, '}')
	}
	if len(calls) > 0 && !m.functions {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendThought appends reasoning under both names that clients read.
func appendThought(dst []byte, text string) []byte {
	dst = wire.AppendString(append(dst, `"reasoning_content":`...), text)
	return wire.AppendString(append(dst, `,"reasoning":`...), text)
}

// appendCall appends the beginning of a call, up to its name.
func appendCall(dst []byte, b *api.Block) []byte {
	dst = append(append(append(dst, `"id":"`...), b.ID...),
		`","type":"function","function":{"name":`...)
	return dst
}

func (m chatMembers) appendPart(dst []byte, c *api.Choice, p dialect.Part) []byte {
	dst = append(dst, `"delta":{`...)
	switch p.Kind {
	case dialect.Reasoning:
		return append(appendThought(dst, p.Text), '}')
	case dialect.Call, dialect.Arguments:
		return m.appendCallPart(dst, c, p)
	}
	return append(wire.AppendString(append(dst, `"content":`...), p.Text), '}')
}

// appendCallPart appends a call's beginning, or the next piece of its arguments.
func (m chatMembers) appendCallPart(dst []byte, c *api.Choice, p dialect.Part) []byte {
	if m.functions {
		dst = append(dst, `"function_call":{`...)
	} else {
		dst = strconv.AppendInt(append(dst, `"tool_calls":[{"index":`...), int64(p.Index), 10)
		dst = append(dst, ',')
	}
	switch {
	case p.Kind == dialect.Arguments && m.functions:
		dst = wire.AppendString(append(dst, `"arguments":`...), p.Text)
	case p.Kind == dialect.Arguments:
		dst = append(wire.AppendString(append(dst, `"function":{"arguments":`...), p.Text), '}')
	case m.functions:
		dst = append(wire.AppendString(append(dst, `"name":`...), p.Name), `,"arguments":""`...)
	default:
		dst = append(wire.AppendString(appendCall(dst, c.Answer.Call(p.Index)), p.Name),
			`,"arguments":""}`...)
	}
	if dst = append(dst, '}'); !m.functions {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func (chatMembers) appendBegin(dst []byte, _ *api.Choice) []byte {
	return append(dst, `"delta":{"role":"assistant","content":""}`...)
}

func (chatMembers) appendEnd(dst []byte) []byte { return append(dst, `"delta":{}`...) }

// scored returns the tokens of the content. Thoughts and calls are not in the list.
func (chatMembers) scored(c *api.Choice, _ []engine.Token) []engine.Token { return c.NewlyScored() }

func (chatMembers) appendLogprobs(dst []byte, tk model.Tokenizer, _ *api.Choice,
	toks []engine.Token) []byte {
	return appendChatLogprobs(dst, tk, toks)
}

// reason returns the engine's finish reason, or the name for calls if the model waits for what they
// return.
func (m chatMembers) reason(c *api.Choice) string {
	switch {
	case !c.Calls():
		return string(c.Finish)
	case m.functions:
		return "function_call"
	}
	return "tool_calls"
}
