package dialect

import (
	"fmt"
	"strings"
)

// deepSeek reads and writes the calls of DeepSeek V3, R1 and V3.1. They are between special tokens.
// In V3 and R1 the arguments are fenced:
//
//	<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME
//	```json
//	{}
//	```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//
// V3.1 writes <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{}<｜tool▁call▁end｜>.
//
// Sources: github.com/vllm-project/vllm, examples/tool_chat_template_deepseekv3.jinja and
// tool_chat_template_deepseekv31.jinja; github.com/ggml-org/llama.cpp,
// models/templates/deepseek-ai-DeepSeek-V3.1.jinja.
type deepSeek struct{ fenced bool }

const (
	deepSeekCalls    = "<｜tool▁calls▁begin｜>"
	deepSeekCallsEnd = "<｜tool▁calls▁end｜>"
	deepSeekCall     = "<｜tool▁call▁begin｜>"
	deepSeekCallEnd  = "<｜tool▁call▁end｜>"
	deepSeekSep      = "<｜tool▁sep｜>"
)

func (deepSeek) openers() []string { return []string{deepSeekCalls, deepSeekCall} }
func (deepSeek) special() []string {
	return []string{deepSeekSep, deepSeekCallEnd, deepSeekCallsEnd}
}

func (deepSeek) inner(tools map[string]Tool) []string {
	return append(afterNames(tools, deepSeekSep), "function"+deepSeekSep)
}

func (deepSeek) open(p *Parser, a attempt, opener string) {
	m := &deepSeekHead{attempt: a}
	if opener != deepSeekCalls {
		m.at = deepSeekAtSep
	}
	p.mode = m
}

func (d deepSeek) grammar(g *grammar) {
	call := g.addRulePerTool(func(t Tool) string {
		before, between, after := quote(t.Name), g.token(deepSeekSep), ""
		if d.fenced {
			before, after = quote("function"), quote("\n```")+" "
			between += " " + quote(t.Name+"\n```json\n")
		}
		return fmt.Sprintf("%s %s %s %s %s%s",
			g.token(deepSeekCall), before, between, g.arguments(t), after, g.token(deepSeekCallEnd))
	})
	between := ""
	if d.fenced {
		between = "\n"
	}
	g.addRule("calls", "%s %s %s",
		g.token(deepSeekCalls), g.repeat(call, quote(between)), g.token(deepSeekCallsEnd))
}

// A deepSeekHead reads a call up to its arguments.
type deepSeekHead struct {
	attempt
	at      deepSeekPlace
	scanner tagScanner
	text    []byte // the text before the separator, or after it
	name    string
	fenced  bool // a fence before the arguments was read
}

type deepSeekPlace int

const (
	deepSeekAtCall deepSeekPlace = iota
	deepSeekAtSep                // after the type or the name
	deepSeekAtName               // before the name or the arguments
	deepSeekAtFence
)

func (d *deepSeekHead) read(p *Parser, c byte) {
	if d.at == deepSeekAtName && c == '{' && len(strings.TrimSpace(string(d.text))) == 0 {
		if d.name == "" {
			if d.hold(p, c) { // the brace is text too
				d.fail(p)
			}
			return
		}
		d.enterArguments(p)
		p.mode.read(p, c)
		return
	}
	if !d.hold(p, c) {
		return
	}
	switch d.at {
	case deepSeekAtCall:
		if tag, ok := d.scanner.read(c, []string{deepSeekCall}); !ok { // the tag is missing
			d.at, d.inner, d.text, d.scanner = deepSeekAtSep, true, d.scanner.held, tagScanner{}
		} else if tag != "" {
			d.at = deepSeekAtSep
		}
	case deepSeekAtSep:
		switch name := strings.TrimSpace(string(d.text)); {
		case name == deepSeekCall: // once more
			d.text, d.inner = nil, true
		case c == '{' && p.hasTool(name): // the separator is missing
			d.name = name
			d.enterJSON(p, c)
			return
		}
		if d.text = append(d.text, c); strings.HasSuffix(string(d.text), deepSeekSep) {
			d.name = strings.TrimSpace(strings.TrimSuffix(string(d.text), deepSeekSep))
			d.text, d.at = nil, deepSeekAtName
		} else if len(d.text) > maxName {
			d.fail(p)
		}
	case deepSeekAtName:
		if d.text = append(d.text, c); len(d.text) > maxName {
			d.fail(p)
		} else if strings.TrimSpace(string(d.text)) == deepSeekSep { // once more
			d.text, d.inner = nil, true
		} else if name := strings.TrimSpace(string(d.text)); c == '\n' && name != "" {
			d.name, d.at = name, deepSeekAtFence
		}
	case deepSeekAtFence:
		if c == '{' && !d.scanner.begun() {
			d.enterJSON(p, c)
			return
		}
		if tag, ok := d.scanner.read(c, []string{"```json"}); !ok {
			d.fail(p)
		} else if tag != "" {
			d.inner, d.fenced = d.inner || d.fenced, true
		}
	}
}

// enterJSON makes the parser read the arguments from their first byte. The fence before them may be
// missing.
func (d *deepSeekHead) enterJSON(p *Parser, c byte) {
	d.raw, d.inner = d.raw[:len(d.raw)-1], d.inner || !d.fenced
	d.enterArguments(p)
	p.mode.read(p, c)
}

// enterArguments makes the parser read the arguments.
func (d *deepSeekHead) enterArguments(p *Parser) {
	if d.name == "" {
		d.fail(p)
		return
	}
	closing := []string{"```", deepSeekCallEnd, deepSeekCallsEnd}
	p.mode = &argumentsCall{attempt: d.attempt, name: d.name, closing: closing}
}

func (d *deepSeekHead) end(p *Parser, cut bool) { d.finish(p, cut, true) }
