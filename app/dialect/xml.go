package dialect

import (
	"fmt"
	"strings"
)

// xml reads and writes calls between tags of XML. Qwen3-Coder and Qwen3.5 write
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
// MiniCPM5 writes <function name="NAME"><param name="KEY">VALUE</param></function>. The value may be
// in <![CDATA[ and ]]>. Functionary 3.1 writes <function=NAME>{}</function>, with the arguments as JSON.
//
// Sources: chat_template of Qwen/Qwen3-Coder-30B-A3B-Instruct on the hub;
// github.com/vllm-project/vllm, examples/tool_chat_template_qwen3coder.jinja,
// vllm/tool_parsers/qwen3coder_tool_parser.py and pull request 50198; github.com/ggml-org/llama.cpp,
// models/templates, openbmb-MiniCPM5-1B.jinja and meetkai-functionary-medium-v3.1.jinja.
type xml struct {
	call   tags // around a call; may be empty
	syntax *memberSyntax
	line   string // after a tag
}

const (
	xmlFunction   = "<function="
	xmlParameter  = "<parameter="
	xmlEnd        = "</function>"
	xmlValueEnd   = "</parameter>"
	miniFunction  = "<function name="
	miniParameter = "<param name="
	miniValueEnd  = "</param>"
)

var (
	xmlSyntax = newMemberSyntax(memberSyntax{
		function: xmlFunction, named: ">",
		parameter: xmlParameter, keyed: ">",
		valueEnd: xmlValueEnd, lines: true,
		ends: []string{xmlEnd, toolCall.close},
	})
	functionarySyntax = newMemberSyntax(memberSyntax{
		function: xmlFunction, named: ">", object: true,
		parameter: xmlParameter, keyed: ">",
		valueEnd: xmlValueEnd, lines: true,
		ends: []string{xmlEnd},
	})
	miniSyntax = newMemberSyntax(memberSyntax{
		function: miniFunction, named: ">", quoted: true,
		parameter: miniParameter, keyed: ">",
		valueEnd: miniValueEnd, data: tags{"<![CDATA[", "]]>"},
		ends: []string{xmlEnd},
	})
)

func (x xml) openers() []string {
	if x.call.open == "" {
		return []string{x.syntax.function}
	}
	return []string{x.call.open}
}

func (x xml) special() []string {
	token, _ := tokenOf(x.syntax.function)
	parameter, _ := tokenOf(x.syntax.parameter)
	list := []string{token, parameter, x.syntax.valueEnd, xmlEnd}
	for _, tag := range []string{x.call.close, x.syntax.data.open, x.syntax.data.close} {
		if tag != "" {
			list = append(list, tag)
		}
	}
	return list
}

func (x xml) inner(map[string]Tool) []string {
	if x.call.open == "" {
		return nil
	}
	return []string{x.syntax.function}
}

func (x xml) open(p *Parser, a attempt, opener string) {
	m := &memberCall{attempt: a, syntax: x.syntax}
	if opener == x.syntax.function {
		m.at = memberInName
	}
	p.mode = m
}

// writesXML reports whether a tag, or the text between two, can hold a parameter's name.
func writesXML(name string) bool {
	return len(name) <= maxName && !strings.ContainsAny(name, "<>\n")
}

func (x xml) grammar(g *grammar) {
	tag := func(before, name string) string {
		if x.syntax.quoted {
			name = quote(name)
		}
		return g.token(before) + " " + quote(name+">"+x.line)
	}
	call := g.addRulePerTool(func(t Tool) string {
		var b strings.Builder
		if x.call.open != "" {
			fmt.Fprintf(&b, "%s %s ", g.token(x.call.open), quote(x.line))
		}
		b.WriteString(tag(x.syntax.function, t.Name))
		if x.syntax.object {
			return b.String() + " " + g.arguments(t) + " " + g.token(xmlEnd)
		}
		for _, property := range g.properties(t, x.writes) {
			value := g.memberValue(property, x.line+x.syntax.valueEnd+x.line)
			b.WriteString(property.member(tag(x.syntax.parameter, property.name) + " " + value))
		}
		fmt.Fprintf(&b, " %s", g.token(xmlEnd+x.line))
		if x.call.close != "" {
			fmt.Fprintf(&b, " %s", g.token(x.call.close))
		}
		return b.String()
	})
	g.addRule("calls", "%s", g.repeat(call, quote(x.line)))
}

// writes reports whether a tag can hold a parameter's name.
func (x xml) writes(name string) bool {
	return writesXML(name) && !(x.syntax.quoted && strings.Contains(name, `"`))
}
