package dialect

// phi reads and writes the calls of Phi-4-mini. They are JSON between its own tags, one object or a
// list of them: <|tool_call|>{"name": "f", "arguments": {}}<|/tool_call|>. If the template does not
// name a form, the model writes functools[{}]. Granite 3 writes a list without a tag after it.
//
// Sources: github.com/ggml-org/llama.cpp, models/templates,
// llama-cpp-microsoft-Phi-4-mini-instruct.jinja and ibm-granite-granite-3.3-2B-Instruct.jinja
// ("respond only with <|tool_call|> followed by a JSON list of tools used");
// github.com/vllm-project/vllm, vllm/tool_parsers/phi4mini_tool_parser.py.
type phi struct {
	list     bool // a grammar asks for a list
	unclosed bool // no tag follows the list
}

var phiCall = tags{"<|tool_call|>", "<|/tool_call|>"}

const phiList = "functools["

func (phi) openers() []string { return []string{phiCall.open, phiList} }
func (phi) special() []string { return []string{phiCall.close} }

func (phi) open(p *Parser, opener string) {
	a := opened(opener)
	if opener == phiList {
		p.mode = &listCall{attempt: a, inside: true}
		return
	}
	p.mode = &callVariant{a, func(a attempt, c byte) mode {
		if c == '[' {
			return &listCall{attempt: a, closing: []string{phiCall.close}}
		}
		return &objectCall{attempt: a, closing: []string{phiCall.close}}
	}}
}

func (f phi) grammar(g *grammar) {
	call, open, end := g.objects("arguments"), g.token(phiCall.open), g.token(phiCall.close)
	switch {
	case f.unclosed:
		g.addRule("calls", "%s %s", open, g.list(call))
	case f.list:
		g.addRule("calls", "%s %s %s", open, g.list(call), end)
	default:
		g.addRule("called", "%s %s %s", open, call, end)
		g.addRule("calls", "%s", g.repeat("called", quote("")))
	}
}
