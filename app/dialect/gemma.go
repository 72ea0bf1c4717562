package dialect

import "fmt"

// gemma reads and writes the calls of FunctionGemma and Gemma 4, with strings between special
// delimiters. Gemma 4 writes
//
//	<|tool_call>call:NAME{KEY:<|"|>VALUE<|"|>,KEY:1}<tool_call|>
//
// FunctionGemma, which is older, has <start_function_call>, <end_function_call> and <escape>
// instead.
//
// In long conversations Gemma 4 slips into other forms, which are read too: parentheses and = as in
// Python, quotes instead of delimiters, JSON, and no call: before the name.
//
// Sources: chat_template of google/gemma-4-31B-it, as in github.com/ggml-org/llama.cpp,
// models/templates/gemma4.jinja; github.com/vllm-project/vllm,
// vllm/tool_parsers/gemma4_tool_parser.py; ai.google.dev/gemma/docs/functiongemma. The slips are in
// github.com/vllm-project/vllm, issues 51284 and 53642, and github.com/jundot/omlx, issue 1846.
type gemma struct {
	call   tags
	delim  string
	syntax *functionSyntax
}

var (
	gemma4        = newGemma(tags{"<|tool_call>", "<tool_call|>"}, `<|"|>`)
	functionGemma = newGemma(tags{"<start_function_call>", "<end_function_call>"}, "<escape>")
)

// gemmaName precedes a tool's name.
const gemmaName = "call:"

func newGemma(call tags, delim string) gemma {
	return gemma{call, delim, &functionSyntax{
		open: '{', close: '}', sep: ':', delim: delim, confident: true, before: gemmaName, comma: true,
		last: []string{call.close},
	}}
}

func (m gemma) openers() []string { return []string{m.call.open} }
func (m gemma) special() []string { return []string{m.call.close, m.delim} }

func (gemma) inner(map[string]Tool) []string { return []string{gemmaName} }

func (m gemma) open(p *Parser, a attempt, opener string) {
	p.mode = &callVariant{a, func(a attempt, c byte) mode {
		if opener != "" && (c == '{' || c == '[') {
			return jsonCall(a, c, []string{m.call.close})
		}
		return &functionCall{attempt: a, syntax: m.syntax, before: m.syntax.before}
	}}
}

func (m gemma) grammar(g *grammar) {
	call := g.addRulePerTool(func(t Tool) string {
		function := g.function(t, m.syntax, func(p property) string { return g.gemma(p, m.delim) })
		return fmt.Sprintf("%s %s %s %s",
			g.token(m.call.open), quote(gemmaName), function, g.token(m.call.close))
	})
	g.addRule("calls", "%s", g.repeat(call, quote("")))
}

// gemma returns the rule of a property's literal.
func (g *grammar) gemma(p property, delim string) string {
	if p.tool.Text != "" {
		return g.token(delim) + " " + g.plainText(p.tool, delim)
	}
	g.addRuleOnce("gm_string", "%s %s", g.token(delim), g.textUntil(delim))
	g.addRuleOnce("gm_value",
		`gm_string | GM_NUMBER | "true" | "false" | "null" | gm_list | gm_object`)
	g.addRuleOnce("gm_list", `"[" (gm_value ("," gm_value)*)? "]"`)
	g.addRuleOnce("gm_object", `"{" (GM_KEY ":" gm_value ("," GM_KEY ":" gm_value)*)? "}"`)
	g.addRuleOnce("GM_KEY", `/[A-Za-z_][A-Za-z0-9_.-]*/`)
	g.addRuleOnce("GM_NUMBER", `/-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?/`)
	types := map[string]string{
		"string":  g.token(delim) + " " + g.until(`(.|\n)`+p.length.repeat(), delim),
		"integer": `/-?(0|[1-9][0-9]{0,18})/`, "number": "GM_NUMBER",
		"boolean": `("true" | "false")`, "null": `"null"`,
		"array": "gm_list", "object": "gm_object",
	}
	return scalar(p, types, "gm_value", func(text string) string {
		return g.token(delim) + " " + quote(text) + " " + g.token(delim)
	})
}
