package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/app/wire"
)

// resultIDName is the member of a result that names its call.
const resultIDName = "tool_call_id"

// CallPrefix begins the id of a call for clients of OpenAI's newer API and Ollama's. Templates get
// the id without it, see Block.
const CallPrefix = "call_"

// TemplateID returns the id of a call, as templates get it.
func TemplateID(id string) string {
	if bare, ok := strings.CutPrefix(id, CallPrefix); ok && len(bare) == CallID {
		return bare
	}
	return id
}

// UseTemplateIDs gives the calls of a message, or its result, the ids that templates get.
func (m *Message) UseTemplateIDs() {
	for i := range m.Calls {
		call, _ := readCall(m.Calls[i])
		if id := unquote(call.Get("id")); TemplateID(id) != id {
			m.Calls[i] = call.With("id", wire.Quote(TemplateID(id))).JSON()
		}
	}
	for i, x := range m.more {
		if x.Key == resultIDName {
			if id := unquote(x.Value); TemplateID(id) != id {
				m.more[i].Value = wire.Quote(TemplateID(id))
			}
		}
	}
}

// callIDs completes the calls of a conversation and their results. Some protocols have calls
// without an id or a type, and templates need both. All ids are raw JSON, with quotes.
type callIDs struct {
	calls   []*pastCall // of the answers that wait for results
	results []*Message  // of calls
	known   map[string]bool
	made    int
}

// A pastCall is a call of an earlier answer. Its strings are raw JSON, empty if the call lacks them.
type pastCall struct {
	raw            *json.RawMessage
	id, kind, name string
	broken         bool // its arguments are not an object
	result         *Message
}

// completeToolCalls gives each call a type and an id, and each result the id of its call. An id that the
// client gave stays.
func completeToolCalls(messages []Message) {
	ids := callIDs{known: map[string]bool{}}
	for i := range messages {
		m := &messages[i]
		m.broken = 0
		switch {
		case m.Role == "tool":
			ids.results = append(ids.results, m)
		case len(m.Calls) > 0 && len(ids.results) > 0:
			ids.matchResults()
		}
		for j := range m.Calls {
			call := readPastCall(&m.Calls[j])
			if ids.calls = append(ids.calls, call); call.broken {
				m.broken++
			}
		}
	}
	ids.matchResults()
}

// matchResults pairs the calls with the results and completes both. An id pairs them first, then the
// name of a tool, then the order. A result that has an id takes no call that has another one.
func (s *callIDs) matchResults() {
	for _, c := range s.calls {
		s.known[c.id] = true
	}
	open := func(r *Message, c *pastCall) bool { return c.id == "" || r.raw(resultIDName) == "" }
	for _, fits := range []func(*Message, *pastCall) bool{
		func(r *Message, c *pastCall) bool { return c.id != "" && c.id == r.raw(resultIDName) },
		func(r *Message, c *pastCall) bool {
			return c.name != "" && c.name == r.raw("name") && open(r, c)
		},
		open,
	} {
		s.results = slices.DeleteFunc(s.results, func(r *Message) bool {
			i := slices.IndexFunc(s.calls, func(c *pastCall) bool { return c.result == nil && fits(r, c) })
			if i >= 0 {
				s.calls[i].result = r
			}
			return i >= 0
		})
	}
	for _, c := range s.calls {
		s.complete(c)
	}
	for _, r := range s.results {
		if r.raw(resultIDName) == "" {
			r.set(resultIDName, s.make())
		}
	}
	s.calls, s.results = nil, nil
}

// complete adds to a call and to its result what they lack.
func (s *callIDs) complete(c *pastCall) {
	var given string
	if c.result != nil {
		given = c.result.raw(resultIDName)
	}
	id := cmp.Or(c.id, given)
	if id == "" {
		id = s.make()
	}
	s.known[id] = true
	if c.result != nil && given == "" {
		c.result.set(resultIDName, id)
	}
	if c.id == "" || c.kind == "" {
		c.write(id)
	}
}

// make returns an id of nine letters and digits, which is all that some templates take. The same place
// gets the same id in the next turn, which keeps the prompt's prefix.
func (s *callIDs) make() string {
	for {
		s.made++
		n := strconv.FormatInt(int64(s.made), 36)
		if id := fmt.Sprintf(`"call%05s"`, n); !s.known[id] {
			return id
		}
	}
}

// readPastCall reads a call.
func readPastCall(raw *json.RawMessage) *pastCall {
	call, function := readCall(*raw)
	return &pastCall{raw: raw, id: filled(call.Get("id")), kind: filled(call.Get("type")),
		name: filled(function.Get("name")), broken: bytes.HasPrefix(function.Get("arguments"), []byte{'"'})}
}

// readCall returns the members of a call and of its function. Both were read before.
func readCall(raw json.RawMessage) (call, function wire.Members) {
	call, _ = wire.ReadMembers(raw)
	function, _ = wire.ReadMembers(call.Get("function"))
	return call, function
}

// write writes the call again with that id and a type.
func (c *pastCall) write(id string) {
	call, _ := readCall(*c.raw)
	head := wire.Members{{Key: "id", Value: json.RawMessage(id)},
		{Key: "type", Value: json.RawMessage(cmp.Or(c.kind, `"function"`))}}
	*c.raw = append(head, call.Without("id", "type")...).JSON()
}

// filled returns raw JSON, or "" for null and for an empty string.
func filled(v json.RawMessage) string {
	if s := string(v); s != "null" && s != `""` {
		return s
	}
	return ""
}

// raw returns the raw JSON of a member, or "" if it is absent, null or an empty string.
func (m *Message) raw(key string) string { return filled(m.more.Get(key)) }

// set writes a member, in the place of an earlier one. The message gets members of its own.
func (m *Message) set(key, value string) {
	m.more = append(m.more.Without(key), wire.Member{Key: key, Value: json.RawMessage(value)})
}
