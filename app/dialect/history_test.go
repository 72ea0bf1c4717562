package dialect

import "testing"

// TestRememberedIsTheMemberThatTheTemplateReads: templates of several families give the name.
func TestRememberedIsTheMemberThatTheTemplateReads(t *testing.T) {
	for template, want := range map[string]string{
		"": "reasoning_content",
		"{% if message.reasoning_content is string %}":                                   "reasoning_content",
		"{{ message['reasoning_content'] }} {{ message.thinking }}":                      "reasoning_content",
		`{%- if "thinking" in message and message.thinking %}{{ reasoning_effort }}`:     "thinking",
		"{%- if thinking is defined and thinking %}":                                     "reasoning_content",
		`{% if message.get("reasoning") %}{{ kwargs.reasoning_effort }}`:                 "reasoning",
		"{{- 'Reasoning: ' + reasoning_effort }}{% if message['thinking'] is defined %}": "thinking",
	} {
		if got := Detect(template, special()).Remembered(); got != want {
			t.Errorf("%s: %s, want %s", template, got, want)
		}
	}
}
