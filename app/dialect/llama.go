package dialect

import "fmt"

// llama reads and writes calls without tags around them. They have two forms:
//   - JSON, {"name": "f", "parameters": {}}. The templates of Llama 3.1 and later ask for it.
//   - A list of Python calls, [f(a=1), g()]. These models write it where a template asks for it.
//
// Gemma 3 writes the form that it is asked for. The parser reads both whatever the template asks
// for, because small models mix them up.
//
// A special token may precede the call: <|python_tag|> of Llama 3.1 or <|python_start|> of Llama
//  4. After it the built-in tools are called as NAME.call(query="x"). JSON and Python without a
//     token
//
// before them are calls only if they name a tool of the request, where a line begins.
//
// Sources: github.com/meta-llama/llama-models, models/llama3_1/prompt_format.md and
// models/llama3_2/text_prompt_format.md; ai.google.dev/gemma/docs/capabilities/function-calling;
// github.com/vllm-project/vllm, examples/tool_chat_template_llama3.2_pythonic.jinja and its
// neighbours.
type llama struct {
	pythonic bool // a grammar asks for Python calls
	fenced   bool // calls are in a block, ```tool_code
}

const (
	toolCode  = "```tool_code"
	llamaBare = "{[" // open a call without a token before it
)

var (
	pythonTag   = tags{"<|python_tag|>", ""}
	pythonStart = tags{"<|python_start|>", "<|python_end|>"}

	pythonCalls   = pythonSyntax(functionSyntax{comma: true, last: []string{"]", pythonStart.close}})
	pythonLines   = pythonSyntax(functionSyntax{lines: true, last: []string{"```"}})
	pythonFenced  = pythonSyntax(functionSyntax{comma: true, last: []string{"]", "```"}})
	pythonBuiltIn = pythonSyntax(functionSyntax{suffix: ".call", last: []string{pythonStart.close}})
)

// pythonSyntax fills in the marks of a Python call.
func pythonSyntax(f functionSyntax) *functionSyntax {
	f.open, f.close, f.sep = '(', ')', '='
	return &f
}

func (l llama) openers() []string {
	if l.fenced {
		return []string{toolCode}
	}
	return []string{pythonTag.open, pythonStart.open}
}

func (l llama) special() []string { return []string{pythonStart.close} }

func (llama) inner(map[string]Tool) []string { return []string{xmlFunction, "{", "["} }

func (l llama) open(p *Parser, a attempt, opener string) {
	switch opener {
	case "", "{", "[":
		p.mode = &callVariant{a, func(a attempt, c byte) mode {
			switch c {
			case '{':
				return &objectCall{attempt: a, object: object{bare: true, silent: true}, closing: []string{";"}}
			case '[':
				return &functionCall{attempt: a, syntax: pythonCalls, before: "[", silent: true}
			}
			// Meta's guide to Llama 3.1 asks for such calls.
			return &memberCall{attempt: a, syntax: functionarySyntax}
		}}
	default:
		list, single, last := pythonCalls, pythonBuiltIn, []string{";", pythonStart.close}
		if opener == toolCode {
			list, single, last = pythonFenced, pythonLines, []string{"```"}
		}
		p.mode = &callVariant{a, func(a attempt, c byte) mode {
			switch {
			case c == '{':
				return &objectCall{attempt: a, object: object{bare: true}, closing: last}
			case c == '[':
				return &functionCall{attempt: a, syntax: list, before: "["}
			case inNames(c):
				return &functionCall{attempt: a, syntax: single}
			}
			return nil
		}}
	}
}

func (l llama) grammar(g *grammar) {
	if !l.pythonic {
		g.addRule("calls", "%s", g.repeat(g.objects("parameters"), quote("; ")))
		return
	}
	call := g.addRulePerTool(func(t Tool) string {
		return g.function(t, pythonCalls, g.python)
	})
	calls := g.list(call)
	if l.fenced {
		block := g.repeat(call, quote("\n"))
		calls = fmt.Sprintf("%s %s %s", quote(toolCode+"\n"), block, quote("\n```"))
	}
	g.addRule("calls", "%s", calls)
}

// python returns the rule of a property's Python literal.
func (g *grammar) python(p property) string {
	if p.tool.Text != "" {
		return g.quotedText(p.tool)
	}
	g.addRuleOnce("py_value",
		`PY_STRING | PY_NUMBER | "True" | "False" | "None" | py_list | py_dict`)
	g.addRuleOnce("py_list", `"[" (py_value (", " py_value)*)? "]"`)
	g.addRuleOnce("py_dict", `"{" (PY_STRING ": " py_value (", " PY_STRING ": " py_value)*)? "}"`)
	const char = `([^"\\\x00-\x1f]|\\(["\\bfnrt]|u[0-9a-f]{4}))`
	g.addRuleOnce("PY_STRING", `/"%s*"/`, char)
	g.addRuleOnce("PY_NUMBER", `/-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?/`)
	types := map[string]string{
		"string": `/"` + char + p.length.repeat() + `"/`, "integer": `/-?(0|[1-9][0-9]{0,18})/`, "number": "PY_NUMBER",
		"boolean": `("True" | "False")`, "null": `"None"`, "array": "py_list", "object": "py_dict",
	}
	return scalar(p, types, "py_value", func(text string) string { return quote(quote(text)) })
}
