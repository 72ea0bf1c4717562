package dialect

import "testing"

// TestRemembered: as templates of the families read it.
func TestRemembered(t *testing.T) {
	for template, want := range map[string]string{
		"": "reasoning_content",
		"{% if message.reasoning_content is string %}":                                   "reasoning_content",
		"{{ message['reasoning_content'] }} {{ message.thinking }}":                      "reasoning_content",
		`{%- if "thinking" in message and message.thinking %}{{ reasoning_effort }}`:     "thinking",
		"{%- if thinking is defined and thinking %}":                                     "reasoning_content",
		`{% if message.get("reasoning") %}{{ kwargs.reasoning_effort }}`:                 "reasoning",
		"{{- 'Reasoning: ' + reasoning_effort }}{% if message['thinking'] is defined %}": "thinking",
	} {
		if got := Detect(template, func(string) (int32, bool, bool) { return 0, false, false }).Remembered(); got != want {
			t.Errorf("%s: %s, want %s", template, got, want)
		}
	}
}
