package server

import (
	"encoding/json"
	"strings"
)

// A turn is a message as templates expect it, of one or more of the protocol's:
// adjacent ones of a role are one, and results of tools are turns of their own.
type turn struct {
	role     string // "system", "user", "assistant" or "tool"
	texts    []string
	thoughts []string
	calls    [][]byte
	id, name string // of a tool's result: of the call
}

// text is all of it, its parts a blank line apart.
func (t turn) text() string { return strings.Join(t.texts, "\n\n") }

// message writes the turn in the order in which chats are written.
func (t turn) message() json.RawMessage {
	b := appendString([]byte(`{"role":`), t.role)
	b = appendString(append(b, `,"content":`...), t.text())
	for i, call := range t.calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, call...)
	}
	if t.calls != nil {
		b = append(b, ']')
	}
	if t.thoughts != nil {
		b = appendString(append(b, `,"`+thoughtName+`":`...), strings.Join(t.thoughts, "\n\n"))
	}
	if t.role == "tool" {
		b = appendString(append(b, `,"tool_call_id":`...), t.id)
		if t.name != "" {
			b = appendString(append(b, `,"name":`...), t.name)
		}
	}
	return append(b, '}')
}

// turns are those of a request in the making.
type turns struct {
	list  []turn
	names map[string]string // of tools, by the ids of their calls
}

// of returns the turn that goes on in that role.
func (s *turns) of(role string) *turn {
	if n := len(s.list); n == 0 || s.list[n-1].role != role {
		s.list = append(s.list, turn{role: role})
	}
	return &s.list[len(s.list)-1]
}

func (t *turn) say(text string) {
	if text != "" {
		t.texts = append(t.texts, text)
	}
}

// billing begins a line that Claude Code has in its system text, for its vendor alone.
// A part of it is another one in each request, so that no prompt would begin like the
// one before.
const billing = "x-anthropic-billing-header:"

// unbilled returns the text without such lines.
func unbilled(text string) string {
	if !strings.Contains(text, billing) {
		return text
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), billing) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
