package dialect

import (
	"fmt"
	"strings"
)

// atem reads and writes the answers of Muse Glimmer, which are messages to someone:
//
//	to=self<|message|>THOUGHT<|eom|><|start|>assistant to=NAME<|message|><atem:function_calls>
//	<atem:invoke name="NAME">
//	<atem:parameter name="KEY">VALUE</atem:parameter>
//	</atem:invoke>
//	</atem:function_calls><|eot|>
//
// A message to user is text. The recipient of a call is ignored: models also call in a message to
// user. The tool's schema decides which values are strings, see kindOf. All others are JSON.
//
// The template tells the model that NAME.* are recipients. So NAME.NAME is the tool NAME.
//
// Sources: github.com/vllm-project/vllm, examples/tool_chat_template_muse_glimmer.jinja;
// github.com/ollama/ollama, model/parsers/glimmer.go.
type atem struct{}

const (
	atemCalls     = "<atem:function_calls>"
	atemCallsEnd  = "</atem:function_calls>"
	atemInvoke    = `<atem:invoke name="`
	atemInvokeEnd = "</atem:invoke>"
	atemParameter = `<atem:parameter name="`
	atemValueEnd  = "</atem:parameter>"
	atemNamed     = `">`
	atemEnd       = "<|eom|>"
	atemTurnEnd   = "<|eot|>"
)

var atemSyntax = newMemberSyntax(memberSyntax{
	function: atemInvoke, named: atemNamed, doubled: true,
	parameter: atemParameter, keyed: atemNamed,
	valueEnd: atemValueEnd,
	ends:     []string{atemInvokeEnd, atemCallsEnd},
})

var atemMessages = &messageSyntax{
	ends: []string{atemEnd, atemTurnEnd, messageStart},
	mark: messageTo, thought: "self",
	openers: []string{atemCalls, atemInvoke},
	marks:   []string{atemCalls, atemInvoke, atemEnd, atemTurnEnd, messageStart},
	final: func(g *grammar, rule string) {
		g.addSelf()
		g.addRule("answer", "self? %s %s %s", quote(" "+messageTo+"user"), g.token(messageBody), rule)
	},
}

func (atem) openers() []string { return atemMessages.openers }
func (atem) special() []string { return append([]string{messageBody}, atemMessages.ends...) }

func (atem) inner(map[string]Tool) []string { return nil }

func (atem) open(p *Parser, a attempt, opener string) {
	m := &memberCall{attempt: a, syntax: atemSyntax}
	if opener == atemInvoke {
		m.at = memberInName
	}
	p.mode = m
}

func (atem) grammar(g *grammar) {
	call := g.addRulePerTool(func(t Tool) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s %s", quote(" "+messageTo+t.Name), g.token(messageBody),
			quote(atemCalls+"\n"+atemInvoke+t.Name+atemNamed+"\n"))
		for _, property := range g.properties(t, writesAttribute) {
			member := quote(atemParameter+property.name+atemNamed) + " " +
				g.memberValue(property, atemValueEnd+"\n")
			b.WriteString(property.member(member))
		}
		b.WriteString(" " + quote(atemInvokeEnd+"\n"+atemCallsEnd))
		return b.String()
	})
	g.addSelf()
	between := fmt.Sprintf("%s %s %s", g.token(atemEnd), g.token(messageStart), quote("assistant"))
	g.addRule("calls", "self? %s", g.repeat(call, between)) // the token after it ends the answer
}

// addSelf adds the rule of a thought, and of the beginning of the next message.
func (g *grammar) addSelf() {
	g.addRuleOnce("self", "%s %s %s %s %s", quote(" "+messageTo+"self"), g.token(messageBody),
		g.textUntil(atemEnd), g.token(messageStart), quote("assistant"))
}

// writesAttribute reports whether an attribute in double quotes can hold a parameter's name.
func writesAttribute(name string) bool {
	return len(name) <= maxName && !strings.ContainsAny(name, "\"\n<>")
}
