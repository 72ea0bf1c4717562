package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
)

// tagged reads and writes calls that are JSON between tags, one object or a list of them:
//
//	<tool_call>{"name": "f", "arguments": {}}</tool_call>     Qwen2.5 and 3, Hermes 2 Pro and later
//	<TOOLCALL>[{"name": "f", "arguments": {}}]</TOOLCALL>     Nemotron
//	<tool_calls>[{"name": "f", "arguments": {}}]</tool_calls> Apriel; also in <tool_call>
//	<|tool_call|>{"name": "f", "arguments": {}}<|/tool_call|> Phi-4-mini; or a list
//	<|tool_call|>[{"name": "f", "arguments": {}}]             Granite 3
//
// If the template does not name a form, Phi-4-mini writes functools[{}].
//
// Sources: chat_template in the tokenizer_config.json of Qwen/Qwen2.5-7B-Instruct and Qwen/Qwen3-8B
// on the hub ("For each function call, return a json object with function name and arguments within
// <tool_call></tool_call> XML tags"); github.com/NousResearch/Hermes-Function-Calling, README.md;
// github.com/ggml-org/llama.cpp, models/templates, NVIDIA-Nemotron-Nano-v2.jinja,
// nvidia-Llama-3_3-Nemotron-Super-49B-v1_5.jinja, unsloth-Apriel-1.5.jinja,
// llama-cpp-microsoft-Phi-4-mini-instruct.jinja and ibm-granite-granite-3.3-2B-Instruct.jinja
// ("respond only with <|tool_call|> followed by a JSON list of tools used");
// github.com/vllm-project/vllm, vllm/tool_parsers/phi4mini_tool_parser.py.
type tagged struct {
	call     tags
	line     string // around an object, and between two calls
	list     bool   // a grammar asks for a list
	unclosed bool   // no tag follows the list
}

var (
	toolCall    = tags{"<tool_call>", "</tool_call>"}
	nemotron    = tags{"<TOOLCALL>", "</TOOLCALL>"}
	aprielCalls = tags{"<tool_calls>", "</tool_calls>"}
	phiCall     = tags{"<|tool_call|>", "<|/tool_call|>"}
)

const phiList = "functools["

func (s tagged) openers() []string {
	switch s.call {
	case phiCall:
		return []string{phiCall.open, phiList}
	case aprielCalls: // its template names the other tag too
		return []string{aprielCalls.open, toolCall.open}
	}
	return []string{s.call.open}
}

func (s tagged) special() []string { return []string{s.call.close} }

func (tagged) inner(map[string]Tool) []string { return []string{"{", "["} }

func (s tagged) open(p *Parser, a attempt, opener string) {
	closing := []string{s.call.close}
	if opener == toolCall.open {
		closing = []string{toolCall.close}
	}
	if opener == phiList {
		p.mode = &listCall{attempt: a, inside: true}
		return
	}
	p.mode = &callVariant{a, func(a attempt, c byte) mode {
		o := object{bare: opener == "", silent: opener == ""}
		switch {
		case c == '[':
			return &listCall{attempt: a, object: o, closing: closing}
		case c == '<' && s.call == toolCall:
			a.inner = true
			return &memberCall{attempt: a, syntax: xmlSyntax}
		}
		return &objectCall{attempt: a, object: o, closing: closing}
	}}
}

func (s tagged) grammar(g *grammar) {
	open, end := g.token(s.call.open), g.token(s.call.close)
	if s.list {
		list := g.list(g.objects("arguments"))
		if s.unclosed {
			end = ""
		}
		g.addRule("calls", "%s %s %s", open, list, end)
		return
	}
	call := g.addRulePerTool(func(t Tool) string {
		return fmt.Sprintf("%s %s %s", open, g.object(t, s.line, "arguments", s.line), end)
	})
	g.addRule("calls", "%s", g.repeat(call, quote(s.line)))
}

// ToolInstructions returns a system message that lists functions, each a JSON object, and says how
// one is called in the dialect tool_call.
func ToolInstructions(functions []json.RawMessage) string {
	var b strings.Builder
	b.WriteString("Functions you may call:\n")
	for _, f := range functions {
		b.Write(f)
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "To call one, answer with %s\n{\"name\": NAME, \"arguments\": OBJECT}\n%s.",
		toolCall.open, toolCall.close)
	return b.String()
}

// An objectCall reads one call that is a JSON object, and the tags that close it.
type objectCall struct {
	attempt
	object  object
	closing []string // the tags that may follow the object
}

func (o *objectCall) read(p *Parser, c byte) {
	if !o.hold(p, c) {
		return
	}
	switch o.object.read(p, &o.attempt, c) {
	case ended:
		p.readClosing(append([]string{"}"}, o.closing...)...)
	case wrong:
		if o.called && o.object.whole { // only its end is missing
			o.endWithoutBrace(p)
			return
		}
		o.fail(p, c)
	}
}

// endWithoutBrace ends a call after its arguments, because the rest of the object is missing.
func (o *objectCall) endWithoutBrace(p *Parser) {
	p.source.unread(len(o.object.tail))
	p.readClosing(o.closing...)
	p.source.at += len(o.object.tail)
	p.reread(o.object.tail)
}

func (o *objectCall) end(p *Parser, cut bool) {
	switch {
	case !o.called: // without a tag only the name of a tool distinguishes a call from other JSON
		o.finish(p, cut, o.opener > 0 || o.object.name != "")
	case cut: // the rest of the object is not text
	case len(o.object.tail) > 0:
		o.endWithoutBrace(p)
		p.mode.end(p, cut)
	}
}
