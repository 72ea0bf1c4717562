package dialect

import (
	"strings"
	"testing"
)

// TestClosingEndsAThoughtAnywhere: the closing text ends a thought wherever it comes.
func TestClosingEndsAThoughtAnywhere(t *testing.T) {
	for _, c := range []struct{ template, prompt, opens, rest string }{
		{"<think> </think>", "", "<think>\n", "so"},
		{"<think> </think>", "x<think>\n", "", "so"},
		{"<|channel>thought <channel|>", "", "<|channel>thought\n", "so"},
		{"[TOOL_CALLS] [THINK]", "", "[THINK]", "so"},
		{"<|channel|> <|message|>", "<|start|>assistant", "<|channel|>analysis<|message|>",
			"<|channel|>final<|message|>so"},
		{"<atem:function_calls> <|message|>", "<|start|>assistant", " to=self<|message|>",
			" to=user<|message|>so"},
	} {
		d := Detect(c.template, func(string) (int32, bool, bool) { return 0, false, false })
		for _, thought := range []string{"", "hm", "hm\n", "hm </", "hm <|"} {
			p := d.Parser(Options{Prompt: c.prompt})
			var parts []Part
			for _, piece := range []string{c.opens, thought} {
				parts = append(parts, p.Push(piece)...)
			}
			if !p.Thinking() {
				t.Errorf("%s: after %q the parser is not in a thought", c.template, c.opens+thought)
			}
			parts = append(parts, p.Push(d.Closing())...)
			if p.Thinking() {
				t.Errorf("%s: after %q the parser is still in a thought", c.template, d.Closing())
			}
			parts = append(append(parts, p.Push(c.rest)...), p.Flush()...)
			var said, thoughts string
			for _, part := range parts {
				switch part.Kind {
				case Text:
					said += part.Text
				case Reasoning:
					thoughts += part.Text
				}
			}
			if said != "so" || strings.TrimSpace(thoughts) != strings.TrimSpace(thought) {
				t.Errorf("%s: %q is thought, %q is said", c.template, thoughts, said)
			}
		}
	}
	plain := Detect("", special())
	if plain.Closing() != "" || plain.Parser(Options{}).Thinking() {
		t.Error("a dialect without thoughts closes one")
	}
}

// TestGrammarAllowsCallsAndTheAnswerRule: after a thought the grammar accepts the answer's rule,
// and calls if there are tools.
func TestGrammarAllowsCallsAndTheAnswerRule(t *testing.T) {
	tools := []Tool{{Name: "go"}}
	for _, c := range []struct {
		template, prompt string
		tools            []Tool
		want             []string
	}{
		{"", "", nil, []string{"start: answer\n", "answer: @x\n"}},
		{"", "", tools, []string{"start: answer\n"}},
		{"<tool_call>", "", tools, []string{"start: (calls | answer)\n", "calls: "}},
		{"<tool_call> <think>", "", tools, []string{")? (calls | answer)\n"}},
		{"<tool_call> <think>", "<think>\n\n</think>\n\n", tools, []string{"start: (calls | answer)\n"}},
		{"<tool_call> <think>", "<think>\n", nil, []string{"/\\n{0,2}/ answer\n"}},
		{"<|channel|> <|message|>", "", nil, []string{"start: answer\n", "final", "analysis: "}},
		{"<|channel|> <|message|>", "", tools,
			[]string{"start: (calls | answer)\n", "final", "analysis: ", "commentary"}},
	} {
		d := Detect(c.template, func(string) (int32, bool, bool) { return 0, false, false })
		rules, err := d.Grammar(c.tools, Choice{Prompt: c.prompt, Answer: "@x"})
		if err != nil {
			t.Errorf("%s: %v", c.template, err)
		}
		for _, want := range c.want {
			if strings.Count(rules.Lark, want) != 1 {
				t.Errorf("%s: %q is not in\n%s", c.template, want, rules.Lark)
			}
		}
	}
}
