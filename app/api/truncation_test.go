package api

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// talkOf returns a conversation: s, u, a and c are messages of the system, of the user, of the model, and
// of the model with a call. Each digit is the result of the call with that number, from 0.
func talkOf(t *testing.T, text string) []Message {
	var list []Message
	calls := 0
	for _, r := range text {
		switch r {
		case 's':
			list = append(list, NewMessage("system", "s"))
		case 'u':
			list = append(list, NewMessage("user", "u"))
		case 'a':
			list = append(list, NewMessage("assistant", "a"))
		case 'c':
			m := Message{Role: "assistant"}
			m.Call(fmt.Sprint("id", calls), "f", nil)
			calls++
			list = append(list, m)
		default:
			list = append(list, NewResult("id"+string(r), "f"))
		}
	}
	completeToolCalls(list)
	return list
}

// written returns messages as talkOf reads them.
func written(list []Message) (text string) {
	for _, m := range list {
		switch {
		case m.Role == "tool":
			text += m.unquoted(resultIDName)[len("id"):]
		case m.Calls != nil:
			text += "c"
		default:
			text += m.Role[:1]
		}
	}
	return text
}

// TestCutsLeaveWholeTurns: a conversation is cut before a user's message, or within the last task before
// an answer of the model. The system's messages stay.
func TestCutsLeaveWholeTurns(t *testing.T) {
	for talk, want := range map[string][]string{
		"u":           nil,
		"su":          nil,
		"sua":         nil,
		"uau":         {"u"},
		"suauau":      {"suau", "su"},
		"uu":          {"u"},
		"suuu":        {"suu", "su"},
		"auau":        {"uau", "u"},
		"suasu":       {"ssu"},
		"suc0au":      {"su"},
		"suc0uc1u":    {"suc1u", "su"},
		"sucu0u":      {"su"}, // the result comes after another question
		"sucu0":       nil,    // the same, where the question is the last one
		"suc0c1c2":    {"suc1c2", "suc2"},
		"suauc0c1c2a": {"suc0c1c2a", "suc1c2a", "suc2a", "sua"},
		"succ01c2":    {"suc2"},
		"suc0c1":      {"suc1"},
		"saca0":       nil, // nobody asked
		"u0u":         {"u"},
	} {
		c := &Conversation{Messages: talkOf(t, talk)}
		var got []string
		for _, cut := range c.cuts() {
			got = append(got, written(cut.of(c.Messages)))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is cut to %v, want %v", talk, got, want)
		}
	}
}

// TestCutsAreConversations: whatever the conversation, a cut begins with the user, has all that the system
// says, ends as before, and has the call of each result.
func TestCutsAreConversations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		talk, open, calls := "", []int{}, 0
		for range 1 + random.IntN(14) {
			switch kind := random.IntN(5); {
			case kind == 0 && len(open) > 0:
				i := random.IntN(len(open))
				talk += fmt.Sprint(open[i])
				open = append(open[:i], open[i+1:]...)
			case kind == 1 && calls < 10:
				talk, open, calls = talk+"c", append(open, calls), calls+1
			default:
				talk += string("suuaa"[random.IntN(5)])
			}
		}
		c := &Conversation{Messages: talkOf(t, talk)}
		before := len(c.Messages)
		for _, cut := range c.cuts() {
			list := cut.of(c.Messages)
			called, first := map[string]bool{}, ""
			systems := 0
			for _, m := range list {
				if m.Role == "system" {
					systems++
				} else if first == "" {
					first = m.Role
				}
				for _, raw := range m.Calls {
					call, _ := readCall(raw)
					called[unquote(call.Get("id"))] = true
				}
				if m.Role == "tool" && !called[m.unquoted(resultIDName)] {
					t.Errorf("%s, cut to %s: a result has no call", talk, written(list))
				}
			}
			all := 0
			for _, m := range c.Messages {
				if m.Role == "system" {
					all++
				}
			}
			if first != "user" || systems != all || len(list) >= before ||
				written(list[len(list)-1:]) != written(c.Messages[len(c.Messages)-1:]) {
				t.Errorf("%s is cut to %s", talk, written(list))
			}
			before = len(list)
		}
	}
}
