package dialect

import (
	"fmt"
	"slices"
)

// mistral reads and writes the calls of Mistral's models, which follow a special token. The form
// depends on the version of the tokenizer:
//
//	[TOOL_CALLS][{"name": "f", "arguments": {}}, ...]  up to version 7
//	[TOOL_CALLS]f[CALL_ID]abc[ARGS]{}                  version 11
//	[TOOL_CALLS]f[ARGS]{}                              later versions
//
// Source: github.com/mistralai/mistral-common, tests/data/chat_templates/v3.jinja, v11.jinja and
// v13.jinja.
type mistral struct {
	named bool // a grammar asks for the form with [ARGS]
	id    bool // a grammar asks for [CALL_ID]
}

const (
	mistralCalls = "[TOOL_CALLS]"
	mistralArgs  = "[ARGS]"
	mistralID    = "[CALL_ID]"
)

func (mistral) openers() []string { return []string{mistralCalls} }
func (mistral) special() []string { return []string{mistralArgs, mistralID} }

func (mistral) inner(tools map[string]Tool) []string {
	return append(afterNames(tools, mistralArgs, mistralID), "[")
}

func (mistral) open(p *Parser, a attempt, opener string) {
	p.mode = &callVariant{a, func(a attempt, c byte) mode {
		if c == '[' {
			return &listCall{attempt: a, object: object{bare: opener == "", silent: opener == ""}}
		}
		return &namedCall{attempt: a}
	}}
}

func (m mistral) grammar(g *grammar) {
	if !m.named {
		g.addRule("calls", "%s %s", g.token(mistralCalls), g.list(g.objects("arguments")))
		return
	}
	id := ""
	if m.id {
		id = g.token(mistralID) + " /[A-Za-z0-9]{9}/ "
	}
	call := g.addRulePerTool(func(t Tool) string {
		return fmt.Sprintf("%s %s %s%s %s",
			g.token(mistralCalls), quote(t.Name), id, g.token(mistralArgs), g.arguments(t))
	})
	g.addRule("calls", "%s", g.repeat(call, quote("")))
}

// A listCall reads one call in a list of objects.
type listCall struct {
	attempt
	inside bool // the bracket that opens the list was read
	object object
	done   bool // the object has ended
	look   tagScanner

	closing []string // the tags that may follow the list
}

func (l *listCall) read(p *Parser, c byte) {
	if !l.hold(p, c) {
		return
	}
	if !l.inside {
		l.inside = true // c is the opening bracket
		return
	}
	if l.done {
		tag, ok := l.look.read(c, []string{"}", ",", "]"}) // a brace may come twice
		switch {
		case !ok:
			p.leaveCall(true, l.look.held)
		case tag == ",":
			next := object{bare: l.object.bare, silent: l.object.silent}
			p.mode = &listCall{attempt: opened(tag), inside: true, object: next, closing: l.closing}
		case tag == "]":
			p.readClosing(l.closing...)
		}
		return
	}
	if l.isNext() && l.object.json.depth() == 0 && c != '{' { // a comma after the last call
		tag, ok := l.look.read(c, append([]string{"]"}, l.closing...))
		switch {
		case !ok:
			l.fail(p)
		case tag != "":
			p.readClosing(l.closing[slices.Index(l.closing, tag)+1:]...)
		}
		return
	}
	l.look = tagScanner{}
	switch l.object.read(p, &l.attempt, c) {
	case ended:
		l.done = true
	case wrong:
		if l.called && l.object.whole { // only its end is missing
			l.done = true
			p.reread(l.object.tail)
			return
		}
		l.fail(p, c)
	}
}

func (l *listCall) end(p *Parser, cut bool) {
	switch {
	case !l.called:
		l.finishNext(p, cut, true)
	case cut: // the rest of the object is not text
	case !l.done && len(l.object.tail) > 0:
		l.done = true
		p.reread(l.object.tail)
		p.mode.end(p, cut)
	}
}

// A namedCall reads a tool's name and the tags between it and the arguments.
type namedCall struct {
	attempt
	name    []byte
	id      bool // [CALL_ID] was read
	args    bool // [ARGS] was read
	tag     bool // a tag has begun
	scanner tagScanner
}

func (n *namedCall) read(p *Parser, c byte) {
	if c == '{' && (n.args || !n.tag && len(n.name) > 0) {
		n.inner = n.inner || n.id && !n.args
		p.mode = &argumentsCall{attempt: n.attempt, name: string(n.name)}
		p.mode.read(p, c)
		return
	}
	if !n.hold(p, c) {
		return
	}
	if n.tag = n.tag || c == '['; !n.tag {
		switch {
		case isSpace(c) && !p.hasTools(string(n.name)+string(c)) || c == '{' || c == '"' || len(n.raw) > 2*maxName:
			n.fail(p)
		case !n.id:
			n.name = append(n.name, c)
		}
		return
	}
	tag, ok := n.scanner.read(c, []string{mistralArgs, mistralID})
	switch {
	case !ok || tag == mistralID && n.args || len(n.name) == 0:
		n.fail(p)
	case tag == mistralID:
		n.id, n.tag, n.inner = true, false, n.inner || n.id
	case tag == mistralArgs:
		n.args, n.inner = true, n.inner || n.args
	}
}

func (n *namedCall) end(p *Parser, cut bool) { n.finish(p, cut, true) }
