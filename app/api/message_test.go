package api

import (
	"encoding/json"
	"testing"

	"tandem/app/dialect"
	"tandem/app/wire"
)

// A thought is written under the name that the template has for it. Templates that say thinking
// take no text beside a thought and calls.
func TestThoughtTakesTheTemplatesName(t *testing.T) {
	calls := []json.RawMessage{json.RawMessage(`1`)}
	more := wire.Members{{Key: "name", Value: json.RawMessage(`"n"`)},
		{Key: thoughtName, Value: json.RawMessage(`"hm"`)}}
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
		{said, dialect.History{NullContent: true, SeparateText: true},
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

// Results join the message that calls, under the names of the tools, and the messages stay.
func TestResultsJoinTheirCalls(t *testing.T) {
	call := func(id, name string) json.RawMessage {
		return json.RawMessage(`{"id":"` + id + `","function":{"name":"` + name + `"}}`)
	}
	result := func(id, name, text string) Message {
		m := NewResult(id, name)
		m.Say(text)
		return m
	}
	messages := []Message{
		NewMessage("user", "a"), result("0", "", "early"),
		{Role: "assistant", Calls: []json.RawMessage{call("1", "f"), call("2", "g")}},
		result("2", "", "é\n"), result("1", "other", "x"), result("9", "h", "y"), result("8", "", "z"),
		NewMessage("assistant", "b"), result("7", "", "late"),
	}
	before := len(messages[2].more)
	got := string(new(Conversation).Vars(messages, false, dialect.History{Responses: true}))
	want := `{"messages":[{"role":"user","content":"a"},` +
		`{"role":"tool","content":"early","tool_call_id":"0"},` +
		`{"role":"assistant","content":"","tool_calls":[` + string(call("1", "f")) + "," +
		string(call("2", "g")) + `],"tool_responses":[{"name":"g","response":"é\n"},` +
		`{"name":"f","response":"x"},{"name":"h","response":"y"},{"name":"unknown","response":"z"}]},` +
		`{"role":"assistant","content":"b"},{"role":"tool","content":"late","tool_call_id":"7"}]}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(messages[2].more) != before {
		t.Errorf("the message that calls has %d members more", len(messages[2].more)-before)
	}
}

// Tools are told at the end of the system message, or in one of its own. The client's messages stay
// as they are.
func TestToolsAreToldInTheSystemMessage(t *testing.T) {
	tools := json.RawMessage(`[{"type":"function","function":{"name":"go"}},{"name":"look"}]`)
	const told = "Functions you may call:\n{\"name\":\"go\"}\n{\"name\":\"look\"}\n" +
		"To call one, answer with <tool_call>\n{\"name\": NAME, \"arguments\": OBJECT}\n</tool_call>."
	user, system := NewMessage("user", "hi"), NewMessage("system", "Be brief.")
	c := &Conversation{}
	c.Tools.List = tools
	for _, x := range []struct {
		messages []Message
		want     string
	}{
		{[]Message{user}, told},
		{[]Message{system, user}, "Be brief.\n\n" + told},
	} {
		var vars struct {
			Messages []struct{ Role, Content string }
		}
		text := c.Vars(x.messages, true, dialect.History{ToolsInSystem: true})
		if err := json.Unmarshal(text, &vars); err != nil {
			t.Fatal(err)
		}
		if got := vars.Messages; len(got) != 2 || got[0].Role != "system" ||
			got[0].Content != x.want || got[1].Content != "hi" {
			t.Errorf("%+v", got)
		}
	}
	if system.Text() != "Be brief." {
		t.Errorf("the message became %q", system.Text())
	}
}

// Numbers that are equal have one form, whatever their size. Others never have the same.
func TestEqualNumbersHaveOneForm(t *testing.T) {
	for want, list := range map[string][]string{
		"0": {"0", "-0", "0.0", "0e5", "-0.00E+3"}, "2e0": {"2", "2.0", "20e-1", "0.2E1"},
		"-25e-1": {"-2.5", "-25e-1", "-0.25e1"}, "2e1": {"20", "2e1", "2E+1", "20.0"},
		"9007199254740993e0": {"9007199254740993"}, "9007199254740992e0": {"9007199254740992"},
		"1e-400": {"1e-400"}, "1e99999999999": {"1e99999999999", "1E99999999999"},
	} {
		for _, text := range list {
			if got := string(plainNumber(text)); got != want {
				t.Errorf("%s is %s, want %s", text, got, want)
			}
		}
	}
}
