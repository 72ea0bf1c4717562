package api

import (
	"encoding/json"
	"strings"
	"tandem/app/wire"
)

// A Turn is a message as templates expect it, of one or more of the protocol's:
// adjacent ones of a role are one, and results of tools are turns of their own.
type Turn struct {
	Role     string // "system", "user", "assistant" or "tool"
	Texts    []string
	Thoughts []string
	Calls    [][]byte
	Id, Name string // of a tool's result: of the call
}

// Text is all of it, its parts a blank line apart.
func (t Turn) Text() string { return strings.Join(t.Texts, "\n\n") }

// message writes the turn in the order in which chats are written.
func (t Turn) message() json.RawMessage {
	b := wire.AppendString([]byte(`{"role":`), t.Role)
	b = wire.AppendString(append(b, `,"content":`...), t.Text())
	for i, call := range t.Calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, call...)
	}
	if t.Calls != nil {
		b = append(b, ']')
	}
	if t.Thoughts != nil {
		b = wire.AppendString(append(b, `,"`+thoughtName+`":`...), strings.Join(t.Thoughts, "\n\n"))
	}
	if t.Role == "tool" {
		b = wire.AppendString(append(b, `,"tool_call_id":`...), t.Id)
		if t.Name != "" {
			b = wire.AppendString(append(b, `,"name":`...), t.Name)
		}
	}
	return append(b, '}')
}

// Turns are those of a request in the making.
type Turns struct {
	List  []Turn
	Names map[string]string // of tools, by the ids of their calls
}

// Of returns the turn that goes on in that role.
func (s *Turns) Of(role string) *Turn {
	if n := len(s.List); n == 0 || s.List[n-1].Role != role {
		s.List = append(s.List, Turn{Role: role})
	}
	return &s.List[len(s.List)-1]
}

func (t *Turn) Say(text string) {
	if text != "" {
		t.Texts = append(t.Texts, text)
	}
}

// billing begins a line that Claude Code has in its system text, for its vendor alone.
// A part of it is another one in each request, so that no prompt would begin like the
// one before.
const billing = "x-anthropic-billing-header:"

// Unbilled returns the text without such lines.
func Unbilled(text string) string {
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
