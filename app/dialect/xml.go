package dialect

import (
	"fmt"
	"strings"
)

// xml reads and writes the calls of Qwen3-Coder and Qwen3.5:
//
//	<tool_call>
//	<function=NAME>
//	<parameter=KEY>
//	VALUE
//	</parameter>
//	</function>
//	</tool_call>
//
// A line's end after <parameter=KEY> and one before </parameter> belong to the tags. The tool's
// schema decides which values are strings, see kindOf.
//
// Sources: chat_template of Qwen/Qwen3-Coder-30B-A3B-Instruct on the hub;
// github.com/vllm-project/vllm, examples/tool_chat_template_qwen3coder.jinja and
// vllm/tool_parsers/qwen3coder_tool_parser.py.
type xml struct{}

func (xml) openers() []string { return []string{toolCall.open} }
func (xml) special() []string {
	return []string{toolCall.close, xmlFunction, xmlParameter, xmlValueEnd, xmlEnd}
}

func (xml) open(p *Parser, opener string) {
	m := &memberCall{attempt: opened(opener), syntax: xmlSyntax}
	if opener == xmlFunction {
		m.at, m.attempt = memberInName, openedWithin(opener)
	}
	p.mode = m
}

const (
	xmlFunction  = "<function="
	xmlParameter = "<parameter="
	xmlEnd       = "</function>"
	xmlValueEnd  = "</parameter>"
)

var xmlSyntax = newMemberSyntax(memberSyntax{
	function: xmlFunction, named: ">",
	parameter: xmlParameter, keyed: ">",
	valueEnd: xmlValueEnd, lines: true,
	ends: []string{xmlEnd, toolCall.close},
})

// writesXML reports whether a tag, or the text between two, can hold a parameter's name.
func writesXML(name string) bool {
	return len(name) <= maxName && !strings.ContainsAny(name, "<>\n")
}

func (xml) grammar(g *grammar) {
	call := g.addRulePerTool(func(t Tool) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", g.token(toolCall.open), quote("\n"+xmlFunction+t.Name+">\n"))
		for _, property := range g.properties(t, writesXML) {
			value := g.memberValue(property, "\n"+xmlValueEnd+"\n")
			b.WriteString(property.member(quote(xmlParameter+property.name+">\n") + " " + value))
		}
		fmt.Fprintf(&b, " %s %s", quote(xmlEnd+"\n"), g.token(toolCall.close))
		return b.String()
	})
	g.addRule("calls", "%s", g.repeat(call, quote("\n")))
}
