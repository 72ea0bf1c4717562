package dialect

import (
	"slices"
	"strings"
)

// A functionCall reads calls that look like a function's: NAME(KEY=VALUE) or NAME{KEY:VALUE}.
type functionCall struct {
	attempt
	syntax  *functionSyntax
	before  string // the text before the name
	silent  bool   // no tag precedes the text, so that it is a call only if it names a tool
	at      functionPlace
	scanner tagScanner
	name    []byte // the tool's name as far as it has been read
	args    literal
	json    []byte // the JSON of arguments read before the call was certain
}

// A functionSyntax holds the marks with which a family writes such calls.
type functionSyntax struct {
	open, close byte     // around the arguments
	sep         byte     // between key and value
	delim       string   // around strings, see literal
	confident   bool     // open makes the text a call; otherwise the first argument does
	before      string   // before the tool's name; if there is one, no comma belongs between calls
	suffix      string   // after the tool's name, and not part of it
	comma       bool     // a comma separates calls
	lines       bool     // calls may follow one another without a comma
	last        []string // the texts after the last call, in their order; any may be missing
}

// writes reports whether the form can write a parameter's name. Python allows identifiers. With
// delimiters a name is any text without white space, brackets, comma or colon.
func (f *functionSyntax) writes(name string) bool {
	if f.delim != "" {
		return name != "" && !strings.ContainsAny(name, ":,{}[]<> \t\r\n")
	}
	for i := range len(name) {
		if !isLetter(name[i]) && (i == 0 || !isDigit(name[i])) {
			return false
		}
	}
	return name != ""
}

type functionPlace int

const (
	beforeName functionPlace = iota
	inName
	inArgs
	afterCall
)

func (f *functionCall) read(p *Parser, c byte) {
	if !f.hold(p, c) {
		return
	}
	switch f.at {
	case beforeName:
		if f.isNext() && !f.scanner.begun() && !isSpace(c) && !inNames(c) {
			f.before = ""
		}
		if f.before != "" {
			if tag, ok := f.scanner.read(c, []string{f.before}); !ok {
				f.readBareName(p)
			} else if tag != "" {
				f.at = inName
			}
			return
		}
		if f.isNext() && (f.scanner.begun() || !inNames(c)) { // a comma after the last call
			switch tag, ok := f.scanner.read(c, f.syntax.last); {
			case !ok:
				f.fail(p)
			case tag != "":
				p.readClosing(f.syntax.last[slices.Index(f.syntax.last, tag)+1:]...)
			}
			return
		}
		if isSpace(c) {
			return
		}
		f.at, f.scanner = inName, tagScanner{}
		fallthrough
	case inName:
		f.readName(p, c)
	case inArgs:
		f.readArgument(p, c)
	case afterCall:
		f.readAfterCall(p, c)
	}
}

// readBareName reads a name without the text before it, which models sometimes leave out.
func (f *functionCall) readBareName(p *Parser) {
	held := f.scanner.held
	f.at, f.scanner = inName, tagScanner{}
	for _, c := range held {
		if f.readName(p, c); p.mode != f {
			return
		}
	}
}

// readName reads a byte of the name, or the bracket after it.
func (f *functionCall) readName(p *Parser, c byte) {
	paren := f.syntax.delim != "" && c == '(' // as Python writes calls
	if c != f.syntax.open && !paren {
		allowed := inNames(c) || len(f.name) > 0 && strings.IndexByte(".-:/", c) >= 0
		allowed = allowed || c == ' ' && p.hasTools(string(f.name)+" ")
		if !allowed || len(f.name) == maxName {
			f.fail(p)
			return
		}
		f.name = append(f.name, c)
		return
	}
	if len(f.name) == 0 || (f.silent || f.inner) && !p.hasTool(string(f.name)) {
		f.fail(p)
		return
	}
	f.at, f.json = inArgs, []byte{'{'}
	f.args = newLiteral(f.syntax.close, f.syntax.sep, f.syntax.delim)
	if paren {
		f.args = newLiteral(')', '=', f.syntax.delim)
	}
	tool := p.tools[string(f.name)]
	f.args.isString = func(key string) bool { return kindOf(tool.Parameters, key) == kindText }
	if f.syntax.confident {
		f.beginCall(p)
	}
}

// beginCall begins the call.
func (f *functionCall) beginCall(p *Parser) {
	f.accept(p, strings.TrimSuffix(string(f.name), f.syntax.suffix))
	p.emit(Arguments, f.json...)
	f.json = nil
}

// readArgument reads a byte of the arguments.
func (f *functionCall) readArgument(p *Parser, c byte) {
	var v verdict
	if !f.called {
		if f.json, v = f.args.read(f.json, c); v == ended || v == more && f.args.hasValue {
			f.beginCall(p)
		}
	} else {
		p.emit(Arguments)
		p.run, v = f.args.read(p.run, c)
	}
	p.slipped = p.slipped || f.called && f.args.slipped
	switch v {
	case ended:
		f.at = afterCall
	case wrong:
		f.fail(p, append(f.args.unwritten(), c)...)
	}
}

// readAfterCall reads the text after a call: a comma before the next one, or one of the last texts.
func (f *functionCall) readAfterCall(p *Parser, c byte) {
	again := string(f.args.close)
	tags := append([]string{again}, f.syntax.last...)
	if f.syntax.comma {
		tags = append(tags, ",")
	}
	tag, ok := f.scanner.read(c, tags)
	switch {
	case !ok && f.syntax.lines && inNames(c):
		p.mode = f.next(attempt{})
		p.reread(f.scanner.held)
	case !ok:
		p.leaveCall(true, f.scanner.held)
	case tag == again: // the bracket came twice
	case tag == ",":
		p.mode = f.next(opened(tag))
	case tag != "":
		p.readClosing(f.syntax.last[slices.Index(f.syntax.last, tag):]...)
	}
}

// next returns the mode that reads the call after this one.
func (f *functionCall) next(a attempt) *functionCall {
	before := f.syntax.before
	return &functionCall{attempt: a, syntax: f.syntax, before: before, silent: f.silent || before != ""}
}

func (f *functionCall) end(p *Parser, cut bool) {
	switch {
	case !f.called:
		f.finishNext(p, cut, f.opener > 0 || !f.silent || f.at == inArgs)
	case cut: // the rest of a value is not text
	case f.at == inArgs && f.args.lacksBracket():
		p.emit(Arguments, '}')
	case f.at == inArgs:
		f.fail(p, f.args.unwritten()...)
		p.mode.end(p, cut)
	case f.scanner.begun():
		p.leaveCall(true, f.scanner.held)
		p.mode.end(p, cut)
	}
}

// inNames reports whether a name may begin with c.
func inNames(c byte) bool { return isLetter(c) || isDigit(c) }
