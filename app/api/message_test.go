package api

import (
	"encoding/json"
	"testing"
)

// A thought is written under the name that the template has for it. Templates that say thinking
// take no text beside a thought and calls.
func TestThoughtTakesTheTemplatesName(t *testing.T) {
	calls := []json.RawMessage{json.RawMessage(`1`)}
	more := []member{{"name", json.RawMessage(`"n"`)}, {thoughtName, json.RawMessage(`"hm"`)}}
	for _, c := range []struct {
		m             Message
		thought, want string
	}{
		{Message{Role: "assistant", Texts: []string{"x"}, more: more}, thoughtName, `{"role":"assistant","content":"x","name":"n","reasoning_content":"hm"}`},
		{Message{Role: "assistant", Texts: []string{"x"}, more: more}, "thinking", `{"role":"assistant","content":"x","name":"n","thinking":"hm"}`},
		{Message{Role: "assistant", Texts: []string{"x"}, Calls: calls, more: more}, "thinking", `{"role":"assistant","content":"x","tool_calls":[1],"name":"n"}`},
		{Message{Role: "assistant", Calls: calls, more: more}, "thinking", `{"role":"assistant","content":"","tool_calls":[1],"name":"n","thinking":"hm"}`},
		{Message{Role: "assistant", Texts: []string{"x"}, Calls: calls, more: more}, "thought", `{"role":"assistant","content":"x","tool_calls":[1],"name":"n","thought":"hm"}`},
	} {
		if got := string(c.m.appendTo(nil, c.thought)); got != c.want {
			t.Errorf("%s: %s, want %s", c.thought, got, c.want)
		}
	}
}
