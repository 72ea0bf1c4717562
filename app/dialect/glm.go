package dialect

import (
	"fmt"
	"strings"
)

// glm reads and writes the calls of GLM-4.5, 4.6 and 4.7:
//
//	<tool_call>NAME
//	<arg_key>KEY</arg_key>
//	<arg_value>VALUE</arg_value>
//	</tool_call>
//
// The tool's schema decides which values are strings, see kindOf. All others are JSON.
//
// Sources: chat_template of zai-org/GLM-4.6 and of zai-org/GLM-4.7-Flash on the hub, as in
// github.com/ggml-org/llama.cpp, models/templates.
type glm struct {
	joined bool // without line ends, as GLM-4.7 writes them
}

var (
	glmKey    = tags{"<arg_key>", "</arg_key>"}
	glmValue  = tags{"<arg_value>", "</arg_value>"}
	glmSyntax = newMemberSyntax(memberSyntax{
		parameter: glmKey.open, keyed: glmKey.close,
		valued: glmValue.open, valueEnd: glmValue.close,
		ends: []string{toolCall.close},
	})
)

func (glm) openers() []string { return []string{toolCall.open} }
func (glm) special() []string {
	return []string{toolCall.close, glmKey.open, glmKey.close, glmValue.open, glmValue.close}
}

func (glm) inner(tools map[string]Tool) []string {
	return afterNames(tools, glmKey.open, "\n"+glmKey.open, toolCall.close)
}

func (glm) open(p *Parser, a attempt, opener string) {
	p.mode = &memberCall{attempt: a, syntax: glmSyntax}
}

func (s glm) grammar(g *grammar) {
	line := "\n"
	if s.joined {
		line = ""
	}
	call := g.addRulePerTool(func(t Tool) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", g.token(toolCall.open), quote(t.Name+line))
		for _, property := range g.properties(t, writesXML) {
			member := fmt.Sprintf(`%s %s %s %s %s %s %s`,
				g.token(glmKey.open), quote(property.name), g.token(glmKey.close), optionalText(line),
				g.token(glmValue.open), g.memberValue(property, glmValue.close), optionalText(line))
			b.WriteString(property.member(member))
		}
		fmt.Fprintf(&b, " %s", g.token(toolCall.close))
		return b.String()
	})
	g.addRule("calls", "%s", g.repeat(call, quote(line)))
}

// afterNames returns each tool's name with each of the tags after it.
func afterNames(tools map[string]Tool, tags ...string) (list []string) {
	for name := range tools {
		for _, tag := range tags {
			list = append(list, name+tag)
		}
	}
	return list
}

// optionalText returns the rule of a string, or "" for an empty one.
func optionalText(text string) string {
	if text == "" {
		return ""
	}
	return quote(text)
}

// memberValue returns the rule of a value without quotes, and of the tag after it.
func (g *grammar) memberValue(p property, end string) string {
	switch {
	case p.tool.Text != "":
		return g.plainText(p.tool, end)
	case p.kind == kindText && p.texts != nil:
		var list []string
		for _, text := range p.texts {
			list = append(list, quote(text))
		}
		return fmt.Sprintf("(%s) %s", strings.Join(list, " | "), g.token(end))
	case p.kind == kindNullable && p.length.repeat() != "*":
		return g.until(`((.|\n)`+p.length.repeat()+`|null)`, end)
	case p.kind == kindText || p.kind == kindNullable:
		return g.until(`(.|\n)`+p.length.repeat(), end)
	}
	return g.value(p) + " " + g.token(end)
}
