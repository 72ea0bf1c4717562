package server

import (
	"strconv"

	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
)

// chatMembers are those of chat completions.
type chatMembers struct {
	// functions has a call in the place it had while there was one at most, for a
	// request that offered functions and not tools.
	functions bool
}

func (chatMembers) idPrefix() string { return "chatcmpl-" }

func (chatMembers) object(chunk bool) string {
	if chunk {
		return "chat.completion.chunk"
	}
	return "chat.completion"
}

// appendWhole writes null for the content only where there are calls in its place.
func (m chatMembers) appendWhole(dst []byte, c *choice) []byte {
	text, calls := c.answer.joined(dialect.Text), c.answer.calls()
	dst = append(dst, `"message":{"role":"assistant","content":`...)
	if text == "" && len(calls) > 0 {
		dst = append(dst, "null"...)
	} else {
		dst = appendString(dst, text)
	}
	dst = append(dst, `,"refusal":null`...)
	if thought := c.answer.joined(dialect.Reasoning); thought != "" {
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
		dst = appendString(dst, b.name)
		dst = appendString(append(dst, `,"arguments":`...), string(b.text))
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

// appendThought writes reasoning under both names that clients look for.
func appendThought(dst []byte, text string) []byte {
	dst = appendString(append(dst, `"reasoning_content":`...), text)
	return appendString(append(dst, `,"reasoning":`...), text)
}

// appendCall writes what comes before a call's name.
func appendCall(dst []byte, b *block) []byte {
	dst = append(append(append(dst, `"id":"`...), b.id...), `","type":"function","function":{"name":`...)
	return dst
}

func (m chatMembers) appendPart(dst []byte, c *choice, p dialect.Part) []byte {
	dst = append(dst, `"delta":{`...)
	switch p.Kind {
	case dialect.Reasoning:
		return append(appendThought(dst, p.Text), '}')
	case dialect.Call, dialect.Arguments:
		return m.appendCallPart(dst, c, p)
	}
	return append(appendString(append(dst, `"content":`...), p.Text), '}')
}

// appendCallPart writes a call's beginning, or the next of its arguments.
func (m chatMembers) appendCallPart(dst []byte, c *choice, p dialect.Part) []byte {
	if m.functions {
		dst = append(dst, `"function_call":{`...)
	} else {
		dst = strconv.AppendInt(append(dst, `"tool_calls":[{"index":`...), int64(p.Index), 10)
		dst = append(dst, ',')
	}
	switch {
	case p.Kind == dialect.Arguments && m.functions:
		dst = appendString(append(dst, `"arguments":`...), p.Text)
	case p.Kind == dialect.Arguments:
		dst = append(appendString(append(dst, `"function":{"arguments":`...), p.Text), '}')
	case m.functions:
		dst = append(appendString(append(dst, `"name":`...), p.Name), `,"arguments":""`...)
	default:
		dst = append(appendString(appendCall(dst, c.answer.call(p.Index)), p.Name), `,"arguments":""}`...)
	}
	if dst = append(dst, '}'); !m.functions {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func (chatMembers) appendBegin(dst []byte, _ *choice) []byte {
	return append(dst, `"delta":{"role":"assistant","content":""}`...)
}

func (chatMembers) appendEnd(dst []byte) []byte { return append(dst, `"delta":{}`...) }

// scored are those of the content: neither thoughts nor calls are in the list.
func (chatMembers) scored(c *choice, _ []engine.Token) []engine.Token { return c.heard() }

func (chatMembers) appendLogprobs(dst []byte, tk model.Tokenizer, _ *choice, toks []engine.Token) []byte {
	return appendChatLogprobs(dst, tk, toks)
}

// reason is that of the engine, but for a model that waits for what its calls return.
func (m chatMembers) reason(c *choice) string {
	switch {
	case !c.calls():
		return string(c.finish)
	case m.functions:
		return "function_call"
	}
	return "tool_calls"
}
