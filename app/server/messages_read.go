package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/app/control"
)

// readMessages returns the messages as templates expect them.
func readMessages(f *fields) []json.RawMessage {
	var list []json.RawMessage
	v := f.raw("messages")
	if v == nil || json.Unmarshal(v, &list) != nil || len(list) == 0 {
		f.fail("messages", "must be a list of at least one message.")
		return nil
	}
	out := make([]json.RawMessage, len(list))
	for i, v := range list {
		m, err := parseFields(v, fmt.Sprintf("messages[%d].", i))
		if err == nil {
			out[i], err = appendMessage(nil, v, m)
		}
		if err != nil {
			f.take(&fields{err: err})
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
func appendMessage(dst []byte, v json.RawMessage, m *fields) ([]byte, error) {
	role := m.string("role")
	if m.err == nil && !slices.Contains(roles, role) {
		m.fail("role", "is one of %s, not %q.", control.Word(strings.Join(roles, ", ")), clip(role))
	}
	switch role {
	case "developer":
		role = "system"
	case "function":
		role = "tool"
	}
	content := readContent(m)
	calls := readToolCalls(m)
	if m.err != nil {
		return nil, m.err
	}

	dst = appendString(append(dst, `{"role":`...), role)
	dst = appendString(append(dst, `,"content":`...), content)
	if calls != nil {
		dst = append(append(dst, `,"tool_calls":`...), calls...)
	}
	err := eachMember(v, func(key string, value json.RawMessage) error {
		switch key {
		case "role", "content", "tool_calls", "function_call":
			return nil
		case "reasoning", "thinking": // other servers' names for reasoning_content
			if m.raw(thoughtName) != nil || key == "thinking" && m.raw("reasoning") != nil {
				return nil
			}
			key = thoughtName
		}
		if string(value) == "null" {
			return nil // SDKs echo every field they know; a template tests for presence
		}
		dst = appendString(append(dst, ','), key)
		dst = append(append(dst, ':'), value...)
		return nil
	})
	return append(dst, '}'), err
}

// readContent joins the parts of a message's content, which must be text.
func readContent(m *fields) string {
	v := m.raw("content")
	if v == nil {
		return "" // an assistant that only called tools
	}
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	var parts []json.RawMessage
	if json.Unmarshal(v, &parts) != nil {
		m.fail("content", "must be a string or a list of text parts.")
		return ""
	}
	var b strings.Builder
	for i, v := range parts {
		p, err := parseFields(v, fmt.Sprintf("%scontent[%d].", m.path, i))
		if err != nil {
			m.take(&fields{err: err})
			return ""
		}
		switch t := p.string("type"); {
		case p.err != nil:
		case t == "text" || t == "refusal":
			if p.raw(t) == nil {
				p.fail(t, "is missing.")
			}
			b.WriteString(p.string(t))
		case slices.Contains([]string{"image_url", "input_audio", "file", "video_url"}, t):
			p.fail("type", "%q is not supported: this endpoint takes text only.", t)
		default:
			p.fail("type", "must be \"text\", not %q.", clip(t))
		}
		m.take(p)
	}
	return b.String()
}

// readToolCalls returns the calls an assistant made, their arguments as
// objects where they parse, because most templates want to walk them. The
// older function_call is one call.
func readToolCalls(m *fields) []byte {
	var calls []json.RawMessage
	param := "tool_calls"
	if v := m.raw("tool_calls"); v != nil {
		if json.Unmarshal(v, &calls) != nil {
			m.fail(param, "must be a list.")
		}
	} else if v := m.raw("function_call"); v != nil {
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
			return appendMembers(dst, fn, "arguments", appendArguments)
		}); err != nil {
			m.fail(param, "holds a call that is not of the form {\"function\": {\"name\", \"arguments\"}}.")
			return nil
		}
	}
	return append(out, ']')
}

// appendMembers copies the object v, the member called key through f.
func appendMembers(dst []byte, v json.RawMessage, key string, f func([]byte, json.RawMessage) ([]byte, error)) ([]byte, error) {
	dst = append(dst, '{')
	start := len(dst)
	err := eachMember(v, func(k string, value json.RawMessage) (err error) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, k), ':')
		if k == key {
			dst, err = f(dst, value)
			return err
		}
		dst = append(dst, value...)
		return nil
	})
	return append(dst, '}'), err
}

// appendArguments unwraps a string that holds a JSON object.
func appendArguments(dst []byte, v json.RawMessage) ([]byte, error) {
	var text string
	if json.Unmarshal(v, &text) == nil {
		inner := bytes.TrimSpace([]byte(text))
		if bytes.HasPrefix(inner, []byte("{")) && json.Valid(inner) && checkText(inner) == nil {
			return append(dst, inner...), nil
		}
	}
	return append(dst, v...), nil
}
