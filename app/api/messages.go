package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

// A Message is one message of a chat, as templates expect it.
type Message struct {
	Role    string
	Content string

	calls json.RawMessage // a list of the message's calls; nil for none
	more  []member        // other members, in the client's order; a thought is called thoughtName
}

// appendTo appends the message as a JSON object. thought is the template's name for a thought.
// The templates that say thinking take no text beside a thought where there are calls: they
// take the text for the thought.
func (m Message) appendTo(dst []byte, thought string) []byte {
	dst = wire.AppendString(append(dst, `{"role":`...), m.Role)
	dst = wire.AppendString(append(dst, `,"content":`...), m.Content)
	if m.calls != nil {
		dst = append(append(dst, `,"tool_calls":`...), m.calls...)
	}
	for _, x := range m.more {
		key := x.key
		if key == thoughtName {
			if thought == "thinking" && m.calls != nil && m.Content != "" {
				continue
			}
			key = thought
		}
		dst = wire.AppendString(append(dst, ','), key)
		dst = append(append(dst, ':'), x.value...)
	}
	return append(dst, '}')
}

// ReadMessages reads the messages of a body.
func ReadMessages(f *wire.Fields) []Message {
	var list []json.RawMessage
	v := f.Raw("messages")
	if v == nil || json.Unmarshal(v, &list) != nil || len(list) == 0 {
		f.Fail("messages", "must be a list of at least one message.")
		return nil
	}
	out := make([]Message, len(list))
	for i, v := range list {
		m, err := f.Item("messages", i, v)
		if err == nil {
			out[i], err = readMessage(v, m)
		}
		if err != nil {
			f.Take(&wire.Fields{Err: err})
			return nil
		}
	}
	return out
}

// Roles are the roles of a chat's messages.
var Roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

// thoughtName is the member of a message that holds a thought, until the template's name for it is
// known.
const thoughtName = "reasoning_content"

// readMessage reads one message and keeps its order of members. It turns newer and older forms of
// the protocol into the one that templates know. The role developer becomes system and function
// becomes tool. Content becomes text and arguments become objects.
func readMessage(v json.RawMessage, m *wire.Fields) (Message, error) {
	m.As(ChatMessageShape)
	role := m.String("role")
	if m.Err == nil && !slices.Contains(Roles, role) {
		m.Fail("role", "is one of %s, not %q.", control.Word(strings.Join(Roles, ", ")), wire.Clip(role))
	}
	switch role {
	case "developer":
		role = "system"
	case "function":
		role = "tool"
	}
	out := Message{Role: role, Content: ReadContent(m), calls: readToolCalls(m)}
	if m.Err != nil {
		return out, m.Err
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
		if string(value) != "null" { // SDKs echo every field they know; a template tests for presence
			out.more = append(out.more, member{key, value})
		}
		return nil
	})
	return out, err
}

// ReadContent returns the parts of a message's content as one text. Every part must be text.
func ReadContent(m *wire.Fields) string {
	v := m.Raw("content")
	if v == nil {
		return "" // an assistant's message with calls alone
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
		p, err := m.Item("content", i, v)
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

// readToolCalls returns the calls of an assistant's message. Arguments become objects if they
// parse, because most templates walk through them. The older function_call is one call.
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

// appendMembers appends the object v. It passes the value of the member key through f.
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

// AppendArguments appends v. If v is a string that holds a JSON object, it appends that object.
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
