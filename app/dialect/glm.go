package dialect

import (
	"fmt"
	"strings"
)

// glm reads and writes the calls of GLM-4.5, 4.6 and 4.7, the last of them without the line ends:
//
//	<tool_call>NAME
//	<arg_key>KEY</arg_key>
//	<arg_value>VALUE</arg_value>
//	</tool_call>
//
// The tool's schema decides which values are strings, see kindOf. All others are JSON.
//
// Source: chat_template of zai-org/GLM-4.6 on the hub, as in github.com/ggml-org/llama.cpp,
// models/templates/GLM-4.6.jinja.
type glm struct{}

var (
	glmKey   = tags{"<arg_key>", "</arg_key>"}
	glmValue = tags{"<arg_value>", "</arg_value>"}
	glmForm  = newMemberForm(memberForm{
		parameter: glmKey.open, keyed: glmKey.close,
		valued: []string{glmValue.open}, valueEnd: glmValue.close,
		ends: []string{toolCall.close},
	})
)

func (glm) openers() []string { return []string{toolCall.open} }
func (glm) bare() string      { return "" }
func (glm) special() []string {
	return []string{toolCall.close, glmKey.open, glmKey.close, glmValue.open, glmValue.close}
}

func (glm) open(p *Parser, opener string) {
	p.mode = &memberCall{attempt: opened(opener), form: glmForm}
}

func (glm) grammar(g *grammar) {
	call := g.addRulePerTool("call", func(t Tool) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", g.token(toolCall.open), quote(t.Name+"\n"))
		for _, property := range g.properties(t, writesXML) {
			member := fmt.Sprintf(`%s %s %s %s %s %s`,
				g.token(glmKey.open), quote(property.name), g.token(glmKey.close), quote("\n"),
				g.token(glmValue.open), g.memberValue(property, glmValue.close))
			if !property.required {
				member = "(" + member + ")?"
			}
			b.WriteString(" " + member)
		}
		fmt.Fprintf(&b, " %s", g.token(toolCall.close))
		return b.String()
	})
	g.addRule("calls", "%s", g.repeat(call, quote("\n")))
}

// memberValue returns the rule of a value without quotes, the tag after it, and a line's end.
func (g *grammar) memberValue(p property, end string) string {
	switch {
	case p.kind == kindText && p.texts != nil:
		var list []string
		for _, text := range p.texts {
			list = append(list, quote(text))
		}
		return fmt.Sprintf("(%s) %s %s", strings.Join(list, " | "), g.token(end), quote("\n"))
	case p.kind == kindText || p.kind == kindNullable:
		return g.textUntil(end) + " " + quote("\n")
	}
	return g.value(p) + " " + g.token(end) + " " + quote("\n")
}
