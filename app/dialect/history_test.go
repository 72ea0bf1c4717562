package dialect

import "testing"

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
