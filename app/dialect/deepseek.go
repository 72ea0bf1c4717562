package dialect

import (
	"fmt"
	"strings"
)

// deepSeek writes calls between tokens of their own, with fenced arguments in V3 and R1:
//
//	<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME
//	```json
//	{}
//	```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//
// and as <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{}<｜tool▁call▁end｜> in V3.1
// (github.com/vllm-project/vllm, examples/tool_chat_template_deepseekv3.jinja and
// tool_chat_template_deepseekv31.jinja; models/templates/deepseek-ai-DeepSeek-V3.1.jinja in
// github.com/ggml-org/llama.cpp).
type deepSeek struct{ fenced bool }

const (
	deepSeekCalls    = "<｜tool▁calls▁begin｜>"
	deepSeekCallsEnd = "<｜tool▁calls▁end｜>"
	deepSeekCall     = "<｜tool▁call▁begin｜>"
	deepSeekCallEnd  = "<｜tool▁call▁end｜>"
	deepSeekSep      = "<｜tool▁sep｜>"
)

func (deepSeek) openers() []string { return []string{deepSeekCalls, deepSeekCall} }
func (deepSeek) special() []string { return []string{deepSeekSep, deepSeekCallEnd, deepSeekCallsEnd} }
func (deepSeek) bare() string      { return "" }

func (deepSeek) open(p *Parser, opener string) {
	m := &deepSeekHead{attempt: attempt{raw: []byte(opener), opener: len(opener)}}
	if opener == deepSeekCall {
		m.at = deepSeekAtSep
	}
	p.mode = m
}

func (d deepSeek) grammar(g *grammar) {
	call := g.each("call", func(t Tool) string {
		before, between, after := quote(t.Name), g.token(deepSeekSep), ""
		if d.fenced {
			before, between, after = quote("function"), g.token(deepSeekSep)+" "+quote(t.Name+"\n```json\n"), quote("\n```")+" "
		}
		return fmt.Sprintf("%s %s %s %s %s%s", g.token(deepSeekCall), before, between, g.arguments(t), after, g.token(deepSeekCallEnd))
	})
	between := ""
	if d.fenced {
		between = "\n"
	}
	g.rule("calls", "%s %s %s", g.token(deepSeekCalls), g.several(call, quote(between)), g.token(deepSeekCallsEnd))
}

// A deepSeekHead reads a call up to its arguments.
type deepSeekHead struct {
	attempt
	at   deepSeekPlace
	look lookout
	text []byte // up to what is looked for
	name string
}

type deepSeekPlace int

const (
	deepSeekAtCall deepSeekPlace = iota
	deepSeekAtSep                // behind the type or the name
	deepSeekAtName               // or the arguments
	deepSeekAtFence
)

func (d *deepSeekHead) read(p *Parser, c byte) {
	if d.at == deepSeekAtName && c == '{' && len(strings.TrimSpace(string(d.text))) == 0 {
		d.arguments(p)
		p.mode.read(p, c)
		return
	}
	if !d.hold(p, c) {
		return
	}
	switch d.at {
	case deepSeekAtCall:
		if tag, ok := d.look.read(c, []string{deepSeekCall}); !ok {
			d.wrong(p)
		} else if tag != "" {
			d.at = deepSeekAtSep
		}
	case deepSeekAtSep:
		if d.text = append(d.text, c); strings.HasSuffix(string(d.text), deepSeekSep) {
			d.name = strings.TrimSpace(strings.TrimSuffix(string(d.text), deepSeekSep))
			d.text, d.at = nil, deepSeekAtName
		} else if len(d.text) > maxName {
			d.wrong(p)
		}
	case deepSeekAtName:
		if d.text = append(d.text, c); len(d.text) > maxName {
			d.wrong(p)
		} else if name := strings.TrimSpace(string(d.text)); c == '\n' && name != "" {
			d.name, d.at = name, deepSeekAtFence
		}
	case deepSeekAtFence:
		if tag, ok := d.look.read(c, []string{"```json"}); !ok {
			d.wrong(p)
		} else if tag != "" {
			d.arguments(p)
		}
	}
}

// arguments goes on with the arguments.
func (d *deepSeekHead) arguments(p *Parser) {
	if d.name == "" {
		d.wrong(p)
		return
	}
	p.mode = &argumentsCall{attempt: d.attempt, name: d.name, closing: []string{"```", deepSeekCallEnd, deepSeekCallsEnd}}
}

func (d *deepSeekHead) end(p *Parser, cut bool) {
	d.reject(p)
	p.mode.end(p, cut)
}
