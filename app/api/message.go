package api

import (
	"bytes"
	"slices"
	"strings"

	"tandem/app/wire"
)

// A Turn is a message as templates expect it. Adjacent messages of one role are one turn. A tool's
// result is a turn of its own.
type Turn struct {
	Role     string // "system", "user", "assistant" or "tool"
	Texts    []string
	Thoughts []string
	Calls    [][]byte
	ID, Name string // of a tool's result: the call's
}

// Text returns the turn's texts with blank lines between them.
func (t Turn) Text() string { return strings.Join(t.Texts, "\n\n") }

// message returns the turn as a message. Its members have the order that they have in chats.
func (t Turn) message() Message {
	m := Message{Role: t.Role, Content: t.Text()}
	if t.Calls != nil {
		m.calls = slices.Concat([]byte{'['}, bytes.Join(t.Calls, []byte{','}), []byte{']'})
	}
	say := func(key, text string) {
		m.more = append(m.more, member{key, wire.AppendString(nil, text)})
	}
	if t.Thoughts != nil {
		say(thoughtName, strings.Join(t.Thoughts, "\n\n"))
	}
	if t.Role == "tool" {
		say("tool_call_id", t.ID)
		if t.Name != "" {
			say("name", t.Name)
		}
	}
	return m
}

// Turns collect the turns of a request.
type Turns struct {
	List  []Turn
	Names map[string]string // of tools, by the ids of their calls
}

// Of returns the last turn if it has that role. Otherwise it adds one.
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

// billing begins a line that Claude Code puts into its system text for its vendor. A part of the
// line changes with each request. With it no prompt would begin like the one before.
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
