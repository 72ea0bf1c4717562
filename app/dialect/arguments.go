package dialect

import "fmt"

// An arguments reads the JSON object of a call's arguments.
type arguments struct{ json scanner }

// read takes the next byte and adds it to dst, escaped if it is a control character. The first byte
// must open an object. ended reports whether the object is complete; ok is false if c is not
// allowed here.
func (a *arguments) read(dst []byte, c byte) (out []byte, ended, ok bool) {
	if a.json.depth() == 0 && c != '{' {
		return dst, false, false
	}
	inside := a.json.insideString()
	if !a.json.read(c) {
		return dst, false, false
	}
	if inside && c < ' ' {
		return appendEscaped(dst, c), false, true
	}
	return append(dst, c), a.json.depth() == 0, true
}

// An argumentsCall reads the JSON arguments of a call whose name has already been read.
type argumentsCall struct {
	attempt
	name    string // the tool's name
	args    arguments
	closing []string // the tags that may follow the arguments
}

func (a *argumentsCall) read(p *Parser, c byte) {
	if !a.called {
		if !a.hold(p, c) || isSpace(c) {
			return
		}
		if c != '{' {
			a.fail(p)
			return
		}
		a.accept(p, a.name)
	}
	p.emit(Arguments)
	out, end, ok := a.args.read(p.run, c)
	switch p.run = out; {
	case end:
		p.readClosing(a.closing...)
	case !ok:
		a.fail(p, c)
	}
}

func (a *argumentsCall) end(p *Parser, cut bool) {
	if !a.called {
		a.finish(p, cut, true)
	} else if !cut && a.args.json.lacksBrace() {
		p.emit(Arguments, '}')
	}
}

// appendEscaped adds a byte of a string in JSON's spelling.
func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if c < ' ' {
		return fmt.Appendf(dst, `\u%04x`, c)
	}
	return append(dst, c)
}
