package dialect

import (
	"strings"
	"testing"
)

// templates of several families give the name.
func TestThoughtIsTheMemberThatTheTemplateReads(t *testing.T) {
	for template, want := range map[string]string{
		"": "reasoning_content",
		"{% if message.reasoning_content is string %}":                                   "reasoning_content",
		"{{ message['reasoning_content'] }} {{ message.thinking }}":                      "reasoning_content",
		`{%- if "thinking" in message and message.thinking %}{{ reasoning_effort }}`:     "thinking",
		"{%- if thinking is defined and thinking %}":                                     "reasoning_content",
		`{% if message.get("reasoning") %}{{ kwargs.reasoning_effort }}`:                 "reasoning",
		"{{- 'Reasoning: ' + reasoning_effort }}{% if message['thinking'] is defined %}": "thinking",
	} {
		if got := Detect(template, special()).Histories()[0].Thought; got != want {
			t.Errorf("%s: %s, want %s", template, got, want)
		}
	}
}

// A template that has no place for calls gets them in the text, if the model writes JSON between
// tags, also a list of it.
func TestCallsAreWrittenWhereTheModelWritesJSON(t *testing.T) {
	oneCall := WrittenCalls{"<tool_call>", "</tool_call>", "\n", false}
	for template, want := range map[string]History{
		"<tool_call> xml_tools":      {Thought: "reasoning_content", Functions: "xml_tools", AnyArguments: true, Written: oneCall},
		"<tool_call>":                {Thought: "reasoning_content", AnyArguments: true, Written: oneCall},
		"<TOOLCALL>":                 {Thought: "reasoning_content", AnyArguments: true, Written: WrittenCalls{"<TOOLCALL>", "</TOOLCALL>", "", true}},
		"<|tool_call|>":              {Thought: "reasoning_content", AnyArguments: true, Written: WrittenCalls{"<|tool_call|>", "", "", true}},
		"<tool_call> <function=":     {Thought: "reasoning_content", NullContent: true, TextArguments: true},
		"no calls at all, xml_tools": {Thought: "reasoning_content", Functions: "xml_tools", NullContent: true, TextArguments: true},
	} {
		list := Detect(template, special()).Histories()
		if got := list[len(list)-1]; got != want {
			t.Errorf("%s: at last %+v, want %+v", template, got, want)
		}
	}
}

// A template in the form of ChatML that knows no tools gets them in its system message, and calls
// in the text. Other templates that know none get neither.
func TestToolsAreToldWhereATemplateInChatMLKnowsNone(t *testing.T) {
	for template, want := range map[string]bool{
		"{{ '<|im_start|>' + message['role'] }}":                              true,
		"{{ '<|im_start|>' + message['role'] }}{% if tools %}":                false,
		"{{ '<|im_start|>' + message['role'] }}{% if tools %}<tool_call>":     false,
		"{{ '<start_of_turn>' + message['role'] }}":                           false,
		"{{ '<|im_start|>' + message['role'] }} <tool_call> without the word": false,
	} {
		d := Detect(template, special())
		list := d.Histories()
		if list[0].ToolsInSystem != want || want && (!d.Tools() || list[len(list)-1].Written == (WrittenCalls{})) {
			t.Errorf("%s: %+v", template, list)
		}
	}
}

// The parser reads back the calls that Append writes.
func TestWrittenCallsAreRead(t *testing.T) {
	for template, written := range map[string]string{
		"<tool_call>":                   "hm\n\n<tool_call>\n%\n</tool_call>\n<tool_call>\n%\n</tool_call>",
		"<TOOLCALL>":                    "hm\n\n<TOOLCALL>[%, %]</TOOLCALL>",
		"<|tool_call|>":                 "hm\n\n<|tool_call|>[%, %]",
		"<|tool_call|>{ <|/tool_call|>": "hm\n\n<|tool_call|>%<|/tool_call|>\n<|tool_call|>%<|/tool_call|>",
	} {
		d := Detect(template, special())
		list := d.Histories()
		object := CallObject("get_weather", []byte(`{"city":"a\"b"}`))
		text := string(list[len(list)-1].Written.Append([]byte("hm\n"), object, object))
		if want := strings.ReplaceAll(written, "%", string(object)); text != want {
			t.Errorf("%s: %q, want %q", template, text, want)
		}
		got := show(read(t, d, Options{Tools: offered, Calls: true}, false, text))
		const call = "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\\\\\"b\\\"}\"\n"
		if want := "text \"hm\"\n" + call + call; got != want {
			t.Errorf("%s\nis read as\n%swant\n%s", text, got, want)
		}
	}
}

// A template that reads responses takes text beside calls as a separate message. If it reads no
// ids, it takes results in the message that calls.
func TestResultsGoWhereTheTemplateReadsThem(t *testing.T) {
	for template, want := range map[string]History{
		"{% for r in message['tool_responses'] %}":                                     {SeparateText: true, Responses: true},
		"{% for r in message.get('tool_responses') %}{{ follow.get('tool_call_id') }}": {SeparateText: true},
		"{{ message.role }}": {},
	} {
		for _, h := range Detect(template, special()).Histories() {
			if h.Responses != want.Responses || h.SeparateText != want.SeparateText {
				t.Errorf("%s: %+v", template, h)
			}
		}
	}
}
