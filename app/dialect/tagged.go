package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
)

// tagged reads and writes the calls of Qwen2.5, Qwen3, and Hermes 2 Pro and later. They are JSON
// between tags: <tool_call>{"name": "f", "arguments": {}}</tool_call>.
//
// Sources: chat_template in the tokenizer_config.json of Qwen/Qwen2.5-7B-Instruct and Qwen/Qwen3-8B
// on the hub ("For each function call, return a json object with function name and arguments within
// <tool_call></tool_call> XML tags"); github.com/NousResearch/Hermes-Function-Calling, README.md.
type tagged struct{}

var toolCall = tags{"<tool_call>", "</tool_call>"}

func (tagged) openers() []string { return []string{toolCall.open} }
func (tagged) special() []string { return []string{toolCall.close} }

func (tagged) open(p *Parser, opener string) {
	p.mode = &objectCall{attempt: opened(opener), closing: []string{toolCall.close}}
}

func (tagged) grammar(g *grammar) {
	call := g.addRulePerTool(func(t Tool) string {
		object := g.object(t, "\n", "arguments", "\n")
		return fmt.Sprintf("%s %s %s", g.token(toolCall.open), object, g.token(toolCall.close))
	})
	g.addRule("calls", "%s", g.repeat(call, quote("\n")))
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

// AppendCall appends a call as the dialect tool_call writes it. arguments is a JSON object.
func AppendCall(dst []byte, name string, arguments []byte) []byte {
	dst = append(append(dst, toolCall.open...), "\n{\"name\": "...)
	dst = append(appendString(dst, name), ", \"arguments\": "...)
	dst = append(append(dst, arguments...), "}\n"...)
	return append(dst, toolCall.close...)
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
		p.readClosing(o.closing...)
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
	p.readClosing(o.closing...)
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
