package api

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

// EachMessage yields the messages of a body. A body without messages is an error. The error of a
// message ends the list and becomes the body's.
func EachMessage(f *wire.Fields) iter.Seq[*wire.Fields] {
	var list []json.RawMessage
	v := f.Raw("messages")
	if v == nil || json.Unmarshal(v, &list) != nil || len(list) == 0 {
		f.Fail("messages", "must be a list of at least one message.")
	}
	return f.Items("messages", list)
}

// ReadMessage reads one message of a chat and keeps its order of members. It turns newer and older
// forms of the protocol into the one that templates know. The role developer becomes system and
// function becomes tool. Content becomes text and arguments become objects.
func ReadMessage(m *wire.Fields) Message {
	m.As(ChatMessageShape)
	role := m.String("role")
	if roles := m.Choices("role"); m.Err == nil && !slices.Contains(roles, role) {
		words := control.Word(strings.Join(roles, ", "))
		m.Fail("role", "is one of %s, not %q.", words, wire.Clip(role))
	}
	switch role {
	case "developer":
		role = "system"
	case "function":
		role = "tool"
	}
	var think func(string)
	out := Message{Role: role}
	if role == "assistant" {
		think = out.Think
	}
	out.Texts = []string{ReadContent(m, "content", think)}
	thought := out.more != nil // it has one in its content
	out.Calls = readToolCalls(m)
	if m.Err != nil {
		return out
	}
	for key, value := range m.Members() {
		switch key {
		case "role", "content", "tool_calls", "function_call":
			continue
		case "reasoning", "thinking": // other servers' names for reasoning_content
			if m.Raw(thoughtName) != nil || key == "thinking" && m.Raw("reasoning") != nil {
				continue
			}
			key = thoughtName
		}
		if key == thoughtName && thought {
			continue
		}
		// SDKs echo every field they know, and a template tests for presence.
		if string(value) != "null" {
			out.more = append(out.more, member{key, value})
		}
	}
	return out
}

// readToolCalls returns the calls of an assistant's message. Arguments become objects if they
// parse.
func readToolCalls(m *wire.Fields) (calls []json.RawMessage) {
	const param = "tool_calls"
	v := m.Raw(param)
	if v == nil {
		return readFunctionCall(m)
	}
	var list []json.RawMessage
	if json.Unmarshal(v, &list) != nil {
		m.Fail(param, "must be a list.")
	}
	for _, call := range list {
		out, err := appendMembers(nil, call, "function", appendFunction)
		if err != nil {
			m.Fail(param, badCall)
			return nil
		}
		calls = append(calls, out)
	}
	return calls
}

// readFunctionCall returns function_call, which is the older form of one call.
func readFunctionCall(m *wire.Fields) []json.RawMessage {
	const param = "function_call"
	v := m.Raw(param)
	if v == nil {
		return nil
	}
	call, err := appendFunction([]byte(`{"type":"function","function":`), v)
	if err != nil {
		m.Fail(param, badCall)
		return nil
	}
	return []json.RawMessage{append(call, '}')}
}

// badCall ends the error for a field with a call in another form.
const badCall = "holds a call that is not of the form {\"function\": {\"name\", \"arguments\"}}."

// appendFunction appends the function of a call, its arguments as an object if they parse.
func appendFunction(dst []byte, v json.RawMessage) ([]byte, error) {
	return appendMembers(dst, v, "arguments", func(dst []byte, v json.RawMessage) ([]byte, error) {
		return appendArguments(dst, v), nil
	})
}

// appendMembers appends the object v. It passes the value of the member key through f.
func appendMembers(
	dst []byte, v json.RawMessage, key string, f func([]byte, json.RawMessage) ([]byte, error),
) ([]byte, error) {
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
