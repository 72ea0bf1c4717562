package dialect

import (
	"fmt"
	"slices"
)

// An argumentsCall reads the JSON arguments of a call whose name has already been read.
type argumentsCall struct {
	attempt
	name    string // the tool's name
	args    scanner
	closing []string // the tags that may follow the arguments
	alone   bool     // nothing else may follow
	look    tagScanner
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
	if a.alone && a.args.state == done {
		a.readEnd(p, c)
		return
	}
	switch ended, ok := a.args.readArgument(p, c); {
	case ended && a.alone && p.slipped:
	case ended:
		p.readClosing(append([]string{"}"}, a.closing...)...)
	case !ok:
		a.fail(p, c)
	}
}

// readEnd reads a tag after the arguments. Without one the call is text.
func (a *argumentsCall) readEnd(p *Parser, c byte) {
	switch tag, ok := a.look.read(c, append([]string{"}"}, a.closing...)); {
	case !ok:
		p.refused = true
		p.leaveCall(false, a.look.held)
	case tag == "}" || tag == "":
	default:
		p.readClosing(a.closing[slices.Index(a.closing, tag):]...)
	}
}

func (a *argumentsCall) end(p *Parser, cut bool) {
	if !a.called {
		a.finish(p, cut, true)
	} else if !cut && a.args.lacksBrace() {
		p.emit(Arguments, '}')
	} else if !cut && a.look.begun() {
		p.leaveCall(true, a.look.held)
		p.mode.end(p, cut)
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
