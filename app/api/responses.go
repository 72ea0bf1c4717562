package api

import (
	"encoding/json"
	"slices"

	"tandem/app/wire"
)

// withResponses returns the messages with the results of calls in the messages that call, as
// tool_responses. The names in them are those of the tools that were called.
func withResponses(messages []Message) []Message {
	var list []Message
	for _, m := range messages {
		last := len(list) - 1
		if m.Role != "tool" || last < 0 || list[last].Calls == nil {
			list = append(list, m)
			continue
		}
		list[last].respond(&m)
	}
	return list
}

// respond adds a result to a message that calls.
func (m *Message) respond(result *Message) {
	name := result.text("name")
	for i := range m.Calls {
		if c := readPastCall(&m.Calls[i]); c.id != "" && c.id == result.text(resultIDName) {
			name = c.name
		}
	}
	if name == "" {
		name = `"unknown"`
	}
	response := member{"name", json.RawMessage(name)}.appendTo([]byte{'{'})
	response = wire.AppendString(append(response, `,"response":`...), result.Text())
	response = append(response, '}')
	const key = "tool_responses"
	m.more = slices.Clone(m.more) // the caller's message stays
	for i := range m.more {
		if x := &m.more[i]; x.key == key {
			list := append(slices.Clip(x.value[:len(x.value)-1]), ',')
			x.value = append(append(list, response...), ']')
			return
		}
	}
	m.more = append(m.more, member{key, slices.Concat([]byte{'['}, response, []byte{']'})})
}
