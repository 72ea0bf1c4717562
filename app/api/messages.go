package api

import (
	"encoding/json"
	"iter"
	"slices"

	"tandem/app/control"
	"tandem/app/wire"
)

// EachMessage yields the messages of a body. A body without messages is an error. The error of a
// message ends the list and becomes the body's.
func EachMessage(f *wire.Fields) iter.Seq[*wire.Fields] {
	const what = "must be a list of at least one message."
	list := f.List("messages", what)
	if len(list) == 0 {
		f.Fail("messages", what)
	}
	return f.Items("messages", list)
}

// ReadMessage reads one message of a chat and keeps its order of members. It turns newer and older
// forms of the protocol into the one that templates know. The role developer becomes system and
// function becomes tool. Content becomes text and arguments become objects.
func ReadMessage(m *wire.Fields) Message {
	m.As(ChatMessageShape)
	role := m.String("role")
	if roles := m.Choices("role"); m.Err() == nil && !slices.Contains(roles, role) {
		m.Fail("role", "must be %s, not %q.", control.Words(roles), wire.Clip(role))
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
	if m.Err() != nil {
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
			out.more = append(out.more, wire.Member{Key: key, Value: value})
		}
	}
	return out
}

// readToolCalls returns the calls of an assistant's message, each with arguments that are an object
// if they parse. A call without arguments has an empty object: templates walk through it.
func readToolCalls(m *wire.Fields) (calls []json.RawMessage) {
	const param = "tool_calls"
	v := m.Raw(param)
	if v == nil {
		return readFunctionCall(m)
	}
	for call := range m.Items(param, m.List(param, "must be a list.")) {
		calls = append(calls, readToolCall(call))
	}
	return calls
}

// readToolCall returns one call. Some clients write its function's members beside its id.
func readToolCall(c *wire.Fields) json.RawMessage {
	var call wire.Members
	fn := c.Object("function")
	if fn == nil && c.Values["name"] != nil {
		call = wire.Members{{Key: "type", Value: wire.Quote("function")}}
		if id := c.Values["id"]; id != nil {
			call = append(call, wire.Member{Key: "id", Value: id})
		}
		return append(call, readFunction(c.As(nil), "id", "type", "index")).JSON()
	}
	if fn == nil {
		c.Fail("function", "is missing.")
		return nil
	}
	for key, value := range c.Members() {
		m := wire.Member{Key: key, Value: value}
		if key == "function" {
			m = readFunction(fn)
		}
		call = append(call, m)
	}
	return call.JSON()
}

// readFunctionCall returns function_call, which is the older form of one call.
func readFunctionCall(m *wire.Fields) []json.RawMessage {
	fn := m.Object("function_call")
	if fn == nil {
		return nil
	}
	call := wire.Members{{Key: "type", Value: wire.Quote("function")}, readFunction(fn)}
	return []json.RawMessage{call.JSON()}
}

// readFunction returns the function of a call without some members. It fails fn if that has no name.
func readFunction(fn *wire.Fields, without ...string) wire.Member {
	if fn.Raw("name") == nil {
		fn.Fail("name", "is missing.")
	}
	fn.String("name")
	var list wire.Members
	for key, value := range fn.Members() {
		if key == "arguments" {
			value = plainArguments(value)
		}
		list = append(list, wire.Member{Key: key, Value: value})
	}
	if list = list.Without(without...); list.Get("arguments") == nil {
		list = append(list, wire.Member{Key: "arguments", Value: plainArguments(nil)})
	}
	return wire.Member{Key: "function", Value: list.JSON()}
}
