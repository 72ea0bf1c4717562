package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

// ReadMessages returns the messages as templates expect them.
func ReadMessages(f *wire.Fields) []json.RawMessage {
	var list []json.RawMessage
	v := f.Raw("messages")
	if v == nil || json.Unmarshal(v, &list) != nil || len(list) == 0 {
		f.Fail("messages", "must be a list of at least one message.")
		return nil
	}
	out := make([]json.RawMessage, len(list))
	for i, v := range list {
		m, err := wire.ParseFields(v, fmt.Sprintf("messages[%d].", i))
		if err == nil {
			out[i], err = appendMessage(nil, v, m)
		}
		if err != nil {
			f.Take(&wire.Fields{Err: err})
			return nil
		}
	}
	return out
}

var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

// thoughtName is the member of a message that has the thought of an answer, until the
// template's name for it is known.
const thoughtName = "reasoning_content"

// appendMessage writes one message in its own order of names, except that
// newer and older forms of the protocol become the one templates know:
// developer is system, function is tool, content is text, arguments are objects.
func appendMessage(dst []byte, v json.RawMessage, m *wire.Fields) ([]byte, error) {
	role := m.String("role")
	if m.Err == nil && !slices.Contains(roles, role) {
		m.Fail("role", "is one of %s, not %q.", control.Word(strings.Join(roles, ", ")), wire.Clip(role))
	}
	switch role {
	case "developer":
		role = "system"
	case "function":
		role = "tool"
	}
	content := ReadContent(m)
	calls := readToolCalls(m)
	if m.Err != nil {
		return nil, m.Err
	}

	dst = wire.AppendString(append(dst, `{"role":`...), role)
	dst = wire.AppendString(append(dst, `,"content":`...), content)
	if calls != nil {
		dst = append(append(dst, `,"tool_calls":`...), calls...)
	}
	err := wire.EachMember(v, func(key string, value json.RawMessage) error {
		switch key {
		case "role", "content", "tool_calls", "function_call":
			return nil
		case "reasoning", "thinking": // other servers' names for reasoning_content
			if m.Raw(thoughtName) != nil || key == "thinking" && m.Raw("reasoning") != nil {
				return nil
			}
			key = thoughtName
		}
		if string(value) == "null" {
			return nil // SDKs echo every field they know; a template tests for presence
		}
		dst = wire.AppendString(append(dst, ','), key)
		dst = append(append(dst, ':'), value...)
		return nil
	})
	return append(dst, '}'), err
}

// ReadContent joins the parts of a message's content, which must be text.
func ReadContent(m *wire.Fields) string {
	v := m.Raw("content")
	if v == nil {
		return "" // an assistant that only called tools
	}
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	var parts []json.RawMessage
	if json.Unmarshal(v, &parts) != nil {
		m.Fail("content", "must be a string or a list of text parts.")
		return ""
	}
	var b strings.Builder
	for i, v := range parts {
		p, err := wire.ParseFields(v, fmt.Sprintf("%scontent[%d].", m.Path, i))
		if err != nil {
			m.Take(&wire.Fields{Err: err})
			return ""
		}
		switch t := p.String("type"); {
		case p.Err != nil:
		case t == "text" || t == "refusal":
			if p.Raw(t) == nil {
				p.Fail(t, "is missing.")
			}
			b.WriteString(p.String(t))
		case slices.Contains([]string{"image_url", "input_audio", "file", "video_url"}, t):
			p.Fail("type", "%q is not supported: this endpoint takes text only.", t)
		default:
			p.Fail("type", "must be \"text\", not %q.", wire.Clip(t))
		}
		m.Take(p)
	}
	return b.String()
}

// readToolCalls returns the calls an assistant made, their arguments as
// objects where they parse, because most templates want to walk them. The
// older function_call is one call.
func readToolCalls(m *wire.Fields) []byte {
	var calls []json.RawMessage
	param := "tool_calls"
	if v := m.Raw("tool_calls"); v != nil {
		if json.Unmarshal(v, &calls) != nil {
			m.Fail(param, "must be a list.")
		}
	} else if v := m.Raw("function_call"); v != nil {
		param = "function_call"
		calls = []json.RawMessage{slices.Concat(json.RawMessage(`{"type":"function","function":`), v, json.RawMessage(`}`))}
	}
	if len(calls) == 0 {
		return nil
	}
	out := []byte{'['}
	for i, call := range calls {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendMembers(out, call, "function", func(dst []byte, fn json.RawMessage) ([]byte, error) {
			return appendMembers(dst, fn, "arguments", AppendArguments)
		}); err != nil {
			m.Fail(param, "holds a call that is not of the form {\"function\": {\"name\", \"arguments\"}}.")
			return nil
		}
	}
	return append(out, ']')
}

// appendMembers copies the object v, the member called key through f.
func appendMembers(dst []byte, v json.RawMessage, key string, f func([]byte, json.RawMessage) ([]byte, error)) ([]byte, error) {
	dst = append(dst, '{')
	start := len(dst)
	err := wire.EachMember(v, func(k string, value json.RawMessage) (err error) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(wire.AppendString(dst, k), ':')
		if k == key {
			dst, err = f(dst, value)
			return err
		}
		dst = append(dst, value...)
		return nil
	})
	return append(dst, '}'), err
}

// AppendArguments unwraps a string that holds a JSON object.
func AppendArguments(dst []byte, v json.RawMessage) ([]byte, error) {
	var text string
	if json.Unmarshal(v, &text) == nil {
		inner := bytes.TrimSpace([]byte(text))
		if bytes.HasPrefix(inner, []byte("{")) && json.Valid(inner) && wire.CheckText(inner) == nil {
			return append(dst, inner...), nil
		}
	}
	return append(dst, v...), nil
}
