package dialect

import (
	"fmt"
	"strings"
)

// xml writes calls as Qwen3-Coder and Qwen3.5 do (chat_template of Qwen/Qwen3-Coder-30B-A3B-Instruct
// on the hub; github.com/vllm-project/vllm, examples/tool_chat_template_qwen3coder.jinja and
// vllm/tool_parsers/qwen3coder_tool_parser.py):
//
//	<tool_call>
//	<function=NAME>
//	<parameter=KEY>
//	VALUE
//	</parameter>
//	</function>
//	</tool_call>
//
// A line's end behind <parameter=KEY> and one before </parameter> belong to the tags. What a value
// is the tool's schema says, see kindOf.
type xml struct{}

func (xml) openers() []string { return []string{toolCall.open} }
func (xml) bare() string      { return "" }
func (xml) special() []string {
	return []string{toolCall.close, xmlFunction, xmlParameter, xmlValueEnd, xmlEnd}
}

func (xml) open(p *Parser, opener string) {
	p.mode = &memberCall{attempt: attempt{raw: []byte(opener), opener: len(opener)}, form: xmlForm}
}

const (
	xmlFunction  = "<function="
	xmlParameter = "<parameter="
	xmlEnd       = "</function>"
	xmlValueEnd  = "</parameter>"
)

var xmlForm = newMemberForm(memberForm{function: xmlFunction, named: ">", parameter: xmlParameter, keyed: ">", valueEnd: xmlValueEnd, lines: true, ends: []string{xmlEnd, toolCall.close}})

func (xml) grammar(g *grammar) {
	call := g.each("call", func(t Tool) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", g.token(toolCall.open), quote("\n"+xmlFunction+t.Name+">\n"))
		for _, property := range g.properties(t, func(name string) bool { return len(name) <= maxName && !strings.ContainsAny(name, "<>\n") }) {
			value := g.xmlValue(property)
			if !property.required {
				fmt.Fprintf(&b, ` (%s %s)?`, quote(xmlParameter+property.name+">\n"), value)
				continue
			}
			fmt.Fprintf(&b, ` %s %s`, quote(xmlParameter+property.name+">\n"), value)
		}
		fmt.Fprintf(&b, " %s %s", quote(xmlEnd+"\n"), g.token(toolCall.close))
		return b.String()
	})
	g.rule("calls", "%s", g.several(call, quote("\n")))
}

// xmlValue returns the rule of a parameter's value and the tag behind it.
func (g *grammar) xmlValue(p property) string {
	if p.kind == kindText && p.texts != nil {
		var list []string
		for _, text := range p.texts {
			list = append(list, quote(text+"\n"+xmlValueEnd+"\n"))
		}
		return "(" + strings.Join(list, " | ") + ")"
	}
	if p.kind == kindText || p.kind == kindNullable {
		return g.until("\n" + xmlValueEnd + "\n")
	}
	return g.schema(p.schema, p.strict) + " " + quote("\n"+xmlValueEnd+"\n")
}
