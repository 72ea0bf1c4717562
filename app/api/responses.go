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
	name := result.raw("name")
	for i := range m.Calls {
		if c := readPastCall(&m.Calls[i]); c.id != "" && c.id == result.raw(resultIDName) {
			name = c.name
		}
	}
	if name == "" {
		name = `"unknown"`
	}
	response := wire.Members{{Key: "name", Value: json.RawMessage(name)},
		{Key: "response", Value: wire.Quote(result.Text())}}.JSON()
	const key = "tool_responses" // it stays the last member
	before := slices.Collect(wire.EachValue(m.more.Get(key)))
	m.set(key, string(wire.JoinValues(append(before, response))))
}
