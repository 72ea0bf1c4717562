package api

import (
	"encoding/json"
	"tandem/app/dialect"
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
		if got := string(c.m.appendTo(nil, dialect.History{Thought: c.thought})); got != c.want {
			t.Errorf("%s: %s, want %s", c.thought, got, c.want)
		}
	}
}

func TestMessageTakesTheFormOfTheTemplate(t *testing.T) {
	object := []json.RawMessage{json.RawMessage(
		`{"id":"1","function":{"name":"f","arguments":{"a": "é\n"}}}`)}
	calls, said := Message{Role: "assistant", Calls: object},
		Message{Role: "assistant", Texts: []string{"x"}, Calls: object}
	const usual = `"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a": "é\n"}}}]}`
	for _, c := range []struct {
		m    Message
		form dialect.History
		want string
	}{
		{calls, dialect.History{}, `{"role":"assistant","content":"",` + usual},
		{calls, dialect.History{NullContent: true}, `{"role":"assistant","content":null,` + usual},
		{said, dialect.History{NullContent: true}, `{"role":"assistant","content":"x",` + usual},
		{said, dialect.History{NullContent: true, Apart: true},
			`{"role":"assistant","content":"x"},{"role":"assistant","content":null,` + usual},
		{calls, dialect.History{TextArguments: true}, `{"role":"assistant","content":"",` +
			`"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\": \"é\\n\"}"}}]}`},
		{NewMessage("user", ""), dialect.History{NullContent: true}, `{"role":"user","content":""}`},
	} {
		if got := string(c.m.appendTo(nil, c.form)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.form, got, c.want)
		}
	}
}
