package dialect

// lfm reads and writes the calls of LFM2 and LFM2.5: a list of Python calls between tokens,
// <|tool_call_start|>[f(a="x"), g()]<|tool_call_end|>. Asked to, these models write a list of JSON
// objects there, [{"name": "f", "arguments": {}}]. The parser reads both.
//
// Sources: the model cards of LiquidAI/LFM2-1.2B and LiquidAI/LFM2.5-8B-A1B on the hub, section
// Tool use; their chat_template.jinja. The first template of LFM2 has no calls: the vocabulary
// decides.
type lfm struct{}

var (
	lfmCall  = tags{"<|tool_call_start|>", "<|tool_call_end|>"}
	lfmCalls = pythonSyntax(functionSyntax{comma: true, last: []string{"]", lfmCall.close}})
)

// lfmTools precedes the list of tools in each template of the family.
const lfmTools = "List of tools: "

func (lfm) openers() []string { return []string{lfmCall.open} }
func (lfm) special() []string { return []string{lfmCall.close} }

func (lfm) inner(map[string]Tool) []string { return []string{"["} }

func (lfm) open(p *Parser, a attempt, opener string) {
	p.mode = &callVariant{a, func(a attempt, c byte) mode {
		if c == '[' {
			return &lfmList{attempt: a}
		}
		if a.inner = true; inNames(c) { // the bracket is missing
			return &functionCall{attempt: a, syntax: lfmCalls}
		}
		return nil
	}}
}

func (lfm) grammar(g *grammar) {
	call := g.addRulePerTool(func(t Tool) string {
		return g.function(t, lfmCalls, g.python)
	})
	g.addRule("calls", "%s %s %s", g.token(lfmCall.open), g.list(call), g.token(lfmCall.close))
}

// An lfmList reads the bracket that opens the list, and decides which form the list has.
type lfmList struct {
	attempt
	inside bool // the bracket was read
}

func (l *lfmList) read(p *Parser, c byte) {
	var m mode
	switch {
	case !l.inside:
		l.inside = true
	case c == '{':
		m = &listCall{attempt: l.attempt, inside: true, closing: []string{lfmCall.close},
			object: object{bare: l.attempt.inner, silent: l.attempt.inner}}
	case inNames(c):
		m = &functionCall{attempt: l.attempt, syntax: lfmCalls}
	case !isSpace(c):
		if l.hold(p, c) {
			l.reject(p)
		}
		return
	}
	if m != nil {
		p.mode = m
		m.read(p, c)
		return
	}
	l.hold(p, c)
}

func (l *lfmList) end(p *Parser, cut bool) { l.finish(p, cut, true) }
