package dialect

import "fmt"

// gemma writes calls as FunctionGemma and Gemma 4 do, with strings between delimiters of their own:
// <|tool_call>call:NAME{KEY:<|"|>VALUE<|"|>,KEY:1}<tool_call|> (chat_template of google/gemma-4-31B-it,
// as in github.com/ggml-org/llama.cpp, models/templates/gemma4.jinja; github.com/vllm-project/vllm,
// vllm/tool_parsers/gemma4_tool_parser.py), and with <start_function_call>, <end_function_call> and
// <escape> before that (ai.google.dev/gemma/docs/functiongemma).
type gemma struct {
	call  tags
	delim string
	form  *functionForm
}

var (
	gemma4        = newGemma(tags{"<|tool_call>", "<tool_call|>"}, `<|"|>`)
	functionGemma = newGemma(tags{"<start_function_call>", "<end_function_call>"}, "<escape>")
)

func newGemma(call tags, delim string) gemma {
	return gemma{call, delim, &functionForm{open: '{', close: '}', sep: ':', delim: delim, confident: true, last: []string{call.close}}}
}

func (m gemma) openers() []string { return []string{m.call.open} }
func (m gemma) special() []string { return []string{m.call.close, m.delim} }
func (m gemma) bare() string      { return "" }

func (m gemma) open(p *Parser, opener string) {
	p.mode = &functionCall{attempt: attempt{raw: []byte(opener), opener: len(opener)}, form: m.form, before: "call:"}
}

func (m gemma) grammar(g *grammar) {
	call := g.each("call", func(t Tool) string {
		return fmt.Sprintf("%s %s %s %s", g.token(m.call.open), quote("call:"), g.function(t, m.form, func(p property) string { return g.gemma(p, m.delim) }), g.token(m.call.close))
	})
	g.rule("calls", "%s", g.several(call, quote("")))
}

// gemma returns the literal of a property.
func (g *grammar) gemma(p property, delim string) string {
	g.once("gm_string", "%s %s", g.token(delim), g.until(delim))
	g.once("gm_value", `gm_string | GM_NUMBER | "true" | "false" | "null" | gm_list | gm_object`)
	g.once("gm_list", `"[" (gm_value ("," gm_value)*)? "]"`)
	g.once("gm_object", `"{" (GM_KEY ":" gm_value ("," GM_KEY ":" gm_value)*)? "}"`)
	g.once("GM_KEY", `/[A-Za-z_][A-Za-z0-9_.-]*/`)
	g.once("GM_NUMBER", `/-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?/`)
	types := map[string]string{"string": "gm_string", "integer": `/-?(0|[1-9][0-9]{0,18})/`, "number": "GM_NUMBER",
		"boolean": `("true" | "false")`, "null": `"null"`, "array": "gm_list", "object": "gm_object"}
	return scalar(p, types, "gm_value", func(text string) string { return g.token(delim) + " " + quote(text) + " " + g.token(delim) })
}
