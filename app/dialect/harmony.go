package dialect

import (
	"fmt"
)

// harmony reads and writes the answers of gpt-oss, which are messages on channels:
//
//	<|channel|>analysis<|message|>THOUGHT<|end|><|start|>assistant<|channel|>commentary
//	to=functions.NAME <|constrain|>json<|message|>{}<|call|>
//
// A message without a recipient on the channels commentary and final is text. The recipient may
// also come before the channel. One of these channels begins a message, if the model forgot to end the
// one before. In other places the token is text.
//
// Sources: github.com/openai/harmony, docs/format.md; chat_template of openai/gpt-oss-20b on the
// hub.
type harmony struct{}

const harmonyChannel = "<|channel|>"

var harmonySyntax = &messageSyntax{
	ends: []string{"<|end|>", "<|call|>", "<|return|>", messageStart,
		harmonyChannel + "analysis", harmonyChannel + "commentary", harmonyChannel + "final"},
	mark: harmonyChannel, thought: "analysis",
	final: func(g *grammar, rule string) {
		g.addAnalysis()
		g.addRule("answer", "analysis? %s %s %s %s",
			g.token(harmonyChannel), quote("final"), g.token(messageBody), rule)
	},
}

func (harmony) inner(map[string]Tool) []string { return nil }

func (harmony) openers() []string { return nil }
func (harmony) special() []string {
	return []string{messageBody, "<|constrain|>", "<|end|>", "<|call|>", "<|return|>", messageStart, harmonyChannel}
}

func (harmony) open(*Parser, attempt, string) {}

func (harmony) grammar(g *grammar) {
	call := g.addRulePerTool(func(t Tool) string {
		return fmt.Sprintf("%s %s %s %s %s %s",
			g.token(harmonyChannel), quote("commentary to=functions."+t.Name+" "),
			g.token("<|constrain|>"), quote("json"), g.token(messageBody), g.arguments(t))
	})
	g.addAnalysis()
	g.addRule("calls", "analysis? %s", call) // the token after it ends the answer
}

// addAnalysis adds the rule of a thought.
func (g *grammar) addAnalysis() {
	g.addRuleOnce("analysis", "%s %s %s /(.|\\n)*/ %s %s %s",
		g.token(harmonyChannel), quote("analysis"), g.token(messageBody),
		g.token("<|end|>"), g.token(messageStart), quote("assistant"))
}
