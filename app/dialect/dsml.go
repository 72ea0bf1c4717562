package dialect

import (
	"fmt"
	"strings"
)

// dsml reads and writes the calls of DeepSeek V3.2, with a token of its own in each tag:
//
//	<｜DSML｜function_calls>
//	<｜DSML｜invoke name="NAME">
//	<｜DSML｜parameter name="KEY" string="true">VALUE</｜DSML｜parameter>
//	</｜DSML｜invoke>
//	</｜DSML｜function_calls>
//
// A value that is not a string is JSON, and its tag says string="false".
//
// Sources: github.com/ggml-org/llama.cpp, models/templates/DeepSeek-V3.2.jinja; encoding in
// deepseek-ai/DeepSeek-V3.2 on the hub.
type dsml struct{}

const (
	dsmlToken     = "｜DSML｜"
	dsmlCalls     = "<｜DSML｜function_calls>"
	dsmlCallsEnd  = "</｜DSML｜function_calls>"
	dsmlInvoke    = `<｜DSML｜invoke name="`
	dsmlInvokeEnd = "</｜DSML｜invoke>"
	dsmlParameter = `<｜DSML｜parameter name="`
	dsmlText      = `string="true">`
	dsmlJSON      = `string="false">`
	dsmlValueEnd  = "</｜DSML｜parameter>"
)

var dsmlForm = newMemberForm(memberForm{
	function: dsmlInvoke, named: `">`,
	parameter: dsmlParameter, keyed: `"`,
	valued: []string{dsmlText, dsmlJSON, ">"}, valueEnd: dsmlValueEnd,
	kinds: map[string]kind{dsmlText: kindText, dsmlJSON: kindTyped},
	ends:  []string{dsmlInvokeEnd, dsmlCallsEnd},
})

func (dsml) openers() []string { return []string{dsmlCalls, dsmlInvoke} }
func (dsml) special() []string { return []string{dsmlToken} }
func (dsml) bare() string      { return "" }

func (dsml) open(p *Parser, opener string) {
	m := &memberCall{attempt: opened(opener), form: dsmlForm}
	if opener == dsmlInvoke {
		m.at = memberInName
	}
	p.mode = m
}

func (dsml) grammar(g *grammar) {
	call := g.addRulePerTool("call", func(t Tool) string {
		var b strings.Builder
		b.WriteString(g.dsml(dsmlInvoke + t.Name + "\">\n"))
		for _, property := range g.properties(t, writesAttribute) {
			member := g.dsml(dsmlParameter+property.name+`" `) + " " + g.dsmlValue(property)
			if !property.required {
				member = "(" + member + ")?"
			}
			b.WriteString(" " + member)
		}
		b.WriteString(" " + g.dsml(dsmlInvokeEnd+"\n"))
		return b.String()
	})
	g.addRule("calls", "%s %s %s",
		g.dsml(dsmlCalls+"\n"), g.repeat(call, quote("")), g.dsml(dsmlCallsEnd))
}

// dsml returns the rule of a text that may contain the token.
func (g *grammar) dsml(text string) string {
	var parts []string
	for i, part := range strings.Split(text, dsmlToken) {
		if i > 0 {
			parts = append(parts, g.token(dsmlToken))
		}
		parts = append(parts, quote(part))
	}
	return strings.Join(parts, " ")
}

// dsmlValue returns the rule of a value, from the attribute after its key to its closing tag.
func (g *grammar) dsmlValue(p property) string {
	const end = dsmlValueEnd + "\n"
	switch {
	case p.kind == kindText && p.texts != nil:
		var list []string
		for _, text := range p.texts {
			list = append(list, quote(text))
		}
		return fmt.Sprintf("%s (%s) %s", quote(dsmlText), strings.Join(list, " | "), g.dsml(end))
	case p.kind == kindText:
		return quote(dsmlText) + " " + g.untilDSML(end)
	case p.kind == kindNullable:
		return fmt.Sprintf("(%s %s | %s %s)",
			quote(dsmlText), g.untilDSML(end), quote(dsmlJSON+"null"), g.dsml(end))
	}
	return fmt.Sprintf("%s %s %s", quote(dsmlJSON), g.value(p), g.dsml(end))
}

// untilDSML returns the rule of any text up to and including end. The token within end may be
// special, so that no text matches it.
func (g *grammar) untilDSML(end string) string {
	if _, special, ok := g.dialect.vocabulary(dsmlToken); !ok || !special {
		return g.textUntil(end)
	}
	before, after, _ := strings.Cut(end, dsmlToken)
	g.addRuleOnce("dsml_text[lazy]", `/(.|\n)*%s/`, quoteRegex(before))
	g.addRuleOnce("dsml_rest", "dsml_text (%s %s | dsml_rest)", g.token(dsmlToken), quote(after))
	return "dsml_rest"
}
