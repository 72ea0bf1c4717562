package dialect

import (
	"encoding/json"
	"slices"
	"strings"
)

const (
	maxHeld  = 256 << 10 // bytes held back for a possible call, or for one XML parameter
	maxSpace = 256       // bytes of white space held back before a call or at a thought's end
)

// Options describe the request that an answer belongs to.
type Options struct {
	Tools  []Tool // the tools that may be called
	Calls  bool   // look for calls; without Tools every call is text
	Forced bool   // the answer must be a call, so that what begins is one
	Prompt string // the end of the rendered prompt, which may have opened a thought, or closed one

	// WholeCalls makes a call that was cut text: the client could not tell it from a whole one.
	WholeCalls bool
}

// A Parser reads one answer. Only one goroutine at a time may use it.
type Parser struct {
	dialect *Dialect
	tools   map[string]Tool // by each of their names; nil: the parser looks for no calls
	forced  bool            // see Options
	openers []string        // the texts that open or close a thought or open a call
	atLine  []string        // openers, and the texts that open a call where a line begins
	next    []string        // the texts that may follow a call without its last tags
	starts  string          // the first bytes of atLine
	longest int             // bytes of the longest of atLine
	strict  bool            // each call must be whole and name a tool
	whole   bool            // each call must be whole, see Options
	slipped bool            // the call that has begun must
	refused bool            // it is text
	depth   int             // calls in whose values this parser reads one
	again   int             // values that were read twice

	// bare are the bytes that open a call where the answer begins, and after a call or a thought.
	bare string

	mode  mode
	home  *messages // the mode to which a call returns, if the answer is written as messages
	calls int       // calls that have begun
	begun int       // the place in parts of a call that is not whole yet, or -1
	parts []Part    // finished parts since the last Push
	kind  Kind      // the kind of run
	run   []byte    // the text of the unfinished part

	source source

	// The fields below belong to inText.
	held         []byte   // bytes that may be the beginning of an opener
	space        []byte   // the last white space, not passed on yet
	fresh        bool     // only white space came since the beginning, a thought or a call
	hasText      bool     // the answer has text
	hasMarkup    bool     // the answer has a thought or a call
	line         textLine // the text's last line
	fence        textLine // the line that began the block of code; zero outside of one
	skipNewlines bool     // drop the newlines after a thought
}

// A mode reads one region of the text, such as plain text or the arguments of a call.
type mode interface {
	// read takes the next byte.
	read(p *Parser, c byte)
	// end takes the end of the text. cut is set if the model did not end it.
	end(p *Parser, cut bool)
}

// Parser returns a new parser for one answer.
func (d *Dialect) Parser(o Options) *Parser {
	p := &Parser{dialect: d, mode: inText{}, fresh: true, begun: -1, whole: o.WholeCalls}
	if o.Calls && d.calls != nil && len(o.Tools) > 0 {
		p.tools = map[string]Tool{}
		for _, t := range o.Tools {
			p.tools[t.Name] = t
			for _, name := range t.Also {
				p.tools[name] = t
			}
		}
		p.openers, p.bare = d.calls.openers(), d.bare
		p.next = slices.DeleteFunc(slices.Concat(p.openers, d.calls.inner(p.tools)),
			func(text string) bool { return len(text) == 1 }) // it says too little
		p.forced = o.Forced
	}
	if d.messages != nil {
		p.next = slices.Concat(p.next, d.messages.ends)
		p.home = newMessages(p, o.Prompt)
		p.mode = p.home
	}
	if d.thought.open != "" {
		p.openers = slices.Concat(p.openers, []string{d.thought.open, d.thought.close})
		if strings.HasSuffix(strings.TrimSpace(o.Prompt), d.thought.open) {
			p.enterThought()
		}
	}
	if p.atLine = p.openers; p.tools != nil {
		p.atLine = slices.Concat(p.openers, d.calls.inner(p.tools))
	}
	for _, text := range p.atLine {
		p.starts += text[:1]
		p.longest = max(p.longest, len(text))
	}
	return p
}

// trial returns a parser that shows whether a text within a thought is a call.
func (p *Parser) trial() *Parser {
	return &Parser{dialect: p.dialect, mode: inText{}, fresh: true, begun: -1, tools: p.tools,
		strict: true, openers: p.openers, atLine: p.atLine, starts: p.starts, longest: p.longest, next: p.next}
}

// idle reports whether the parser has found no call, and nothing that may become one.
func (p *Parser) idle() bool {
	_, text := p.mode.(inText)
	return text && len(p.held) == 0 && p.calls == 0
}

// Push reads the next piece of the answer and returns the parts found so far. A piece may end
// anywhere, even within a character.
func (p *Parser) Push(text string) []Part {
	if p.tools != nil {
		p.source.text = append(p.source.text, text...)
	}
	for i := range len(text) {
		p.source.at++
		p.mode.read(p, text[i])
	}
	return p.takeParts()
}

// Flush ends an answer that the model itself ended, and returns the remaining parts.
func (p *Parser) Flush() []Part { return p.finish(false) }

// Cut ends an answer that the model would have continued, and returns the remaining parts. A token
// limit or a stop string cuts an answer. The package comment says what becomes of a call that had begun.
func (p *Parser) Cut() []Part { return p.finish(true) }

func (p *Parser) finish(cut bool) []Part {
	p.mode.end(p, cut)
	if cut && !p.slipped && !p.whole && !p.refused && !json.Valid(p.run) {
		p.begun = -1
	}
	if p.begun >= 0 {
		p.endCall()
		inText{}.end(p, false)
	}
	return p.takeParts()
}

// hasTool reports whether the request has a tool with that name.
func (p *Parser) hasTool(name string) bool {
	_, ok := p.tools[name]
	return ok || p.depth > 0
}

// hasTools reports whether a tool's name begins with text.
func (p *Parser) hasTools(text string) bool {
	for name := range p.tools {
		if strings.HasPrefix(name, text) {
			return true
		}
	}
	return false
}

// takeParts returns the parts since it was last called, and clears them. It keeps a call that is not
// whole yet.
func (p *Parser) takeParts() []Part {
	if p.begun >= 0 {
		parts := p.parts[:p.begun:p.begun]
		p.parts, p.begun = p.parts[p.begun:], 0
		return parts
	}
	p.closePart()
	parts := p.parts
	p.parts = nil
	return parts
}

// closePart finishes the current part.
func (p *Parser) closePart() {
	if len(p.run) == 0 {
		return
	}
	part := Part{Kind: p.kind, Text: string(p.run)}
	if p.kind == Arguments {
		part.Index = p.calls - 1
	}
	p.parts = append(p.parts, part)
	p.run = p.run[:0]
}

// emit adds text to the current part. If the current part is of another kind, emit begins a new
// one.
func (p *Parser) emit(kind Kind, text ...byte) {
	if kind != Arguments && len(text) > 0 {
		p.source.open = false
	}
	if kind != p.kind {
		p.closePart()
		p.kind = kind
	}
	p.run = append(p.run, text...)
}

// beginCall begins a call whose first n bytes have been read. It removes the white space before
// them.
func (p *Parser) beginCall(name string, n int) {
	n = min(n+len(p.space), p.source.at)
	p.space = p.space[:0]
	p.source.unread(n) // the call before this one ends before these bytes
	p.endCall()
	p.source.at += n
	p.closePart()
	p.source.beginCall(n)
	tool, known := p.tools[name]
	if known {
		name = tool.Name
	}
	p.begun, p.slipped, p.refused = len(p.parts), p.strict, false
	p.parts = append(p.parts, Part{Kind: Call, Index: p.calls, Name: name})
	p.calls++
	p.hasMarkup = true
}

// endCall ends the call that has begun, if there is one. The call is text as the model wrote it, if
// its arguments are not a whole object, if its tool does not accept them, or if it must name a tool and
// does not. Then endCall returns false.
func (p *Parser) endCall() bool {
	if p.begun < 0 {
		return true
	}
	begun := p.begun
	tool, known := p.tools[p.parts[begun].Name]
	accepted := p.depth > 0 || (known || !p.slipped) && (tool.Accepts == nil || tool.Accepts(p.run))
	if p.begun = -1; accepted && !p.refused && json.Valid(p.run) {
		return true
	}
	p.parts, p.run = p.parts[:begun], p.run[:0]
	p.calls--
	for _, c := range p.source.takeCall() {
		p.addText(c)
	}
	return false
}

// inText reads plain text up to a call or a thought.
type inText struct{}

func (inText) read(p *Parser, c byte) {
	if p.skipNewlines {
		if p.skipNewlines = c == '\n'; p.skipNewlines {
			return
		}
	}
	if len(p.held) == 0 {
		if p.fresh && strings.IndexByte(p.bare, c) >= 0 {
			p.dialect.calls.open(p, attempt{}, string(c))
			p.mode.read(p, c)
			return
		}
		if strings.IndexByte(p.starts, c) < 0 {
			p.addText(c)
			return
		}
	}
	for p.held = append(p.held, c); len(p.held) > 0; p.held = p.held[1:] {
		openers := p.openers
		if !p.line.begun && p.fence.marks == 0 {
			openers = p.atLine
		}
		opener, whole := matchPrefix(p.held, openers)
		if whole && p.acceptOpener(opener) {
			return
		}
		if opener != "" && !whole {
			return
		}
		// A byte may open a call by itself, where it turns out to be no part of a longer opener.
		if first := string(p.held[:1]); len(p.held) > 1 && slices.Contains(openers, first) {
			rest := p.held[1:]
			p.acceptOpener(first)
			p.reread(rest)
			return
		}
		p.addText(p.held[0])
	}
	p.held = p.held[:0]
}

func (inText) end(p *Parser, cut bool) {
	if cut && p.beganMark() {
		p.held, p.space = nil, p.space[:0]
		return
	}
	for _, c := range p.held {
		p.addText(c)
	}
	p.held = p.held[:0]
	if !p.fresh || p.calls == 0 {
		p.emit(Text, p.space...)
	}
	p.space = p.space[:0]
}

// beganMark reports whether the bytes held back begin a call or a thought, where the text was cut
// within a mark. Half a mark may be other text.
func (p *Parser) beganMark() bool {
	if p.forced {
		return true
	}
	t := p.dialect.thought
	return slices.ContainsFunc(p.openers, func(mark string) bool {
		return 2*len(p.held) > len(mark) && strings.HasPrefix(mark, string(p.held)) &&
			(p.fresh || mark != t.open && mark != t.close)
	})
}

// matchPrefix returns the first of texts that begins with b. whole reports whether b is all of it.
func matchPrefix(b []byte, texts []string) (text string, whole bool) {
	for _, text := range texts {
		if len(text) >= len(b) && text[:len(b)] == string(b) {
			return text, len(text) == len(b)
		}
	}
	return "", false
}

// acceptOpener enters the mode for an opener. It returns false if the opener is text here.
func (p *Parser) acceptOpener(opener string) bool {
	switch t := p.dialect.thought; {
	case opener != t.open && opener != t.close:
		p.held = nil
		if slices.Contains(p.openers, opener) {
			p.mode = &doubledOpener{attempt: opened(opener), opener: opener}
		} else {
			p.openInner(opener)
		}
		return true
	case !p.fresh:
		return false
	case opener == t.open:
		p.held, p.space = nil, p.space[:0]
		p.enterThought()
		return true
	case !p.hasText && !p.hasMarkup:
		p.held, p.space = nil, p.space[:0]
		p.skipNewlines, p.hasMarkup = true, true
		return true
	}
	return false
}

// addText passes on a byte of text. It holds back white space that a call or a thought may follow.
func (p *Parser) addText(c byte) {
	if p.home != nil {
		p.emit(Text, c)
		return
	}
	if c == '\n' {
		switch {
		case p.fence.marks == 0 && p.line.opensBlock():
			p.fence = p.line
		case p.line.closesBlock(p.fence):
			p.fence = textLine{}
		}
		p.line = textLine{}
	} else if !(p.fresh && isSpace(c)) {
		p.line.add(c)
	}
	if isSpace(c) && (p.fresh || p.tools != nil) { // else no call or thought can follow
		if p.space = append(p.space, c); len(p.space) > maxSpace {
			p.emit(Text, p.space[0])
			p.space = p.space[1:]
		}
		return
	}
	p.flushSpace()
	p.emit(Text, c)
	p.fresh, p.hasText = false, true
}

// flushSpace passes on the white space before text. It removes white space between a call and the
// first text, because a template puts its own there.
func (p *Parser) flushSpace() {
	if !p.fresh || p.calls == 0 || p.hasText {
		p.emit(Text, p.space...)
	}
	p.space = p.space[:0]
}

// returnToText makes the parser read text again. fresh says that a call or a thought has just
// ended, so that another may follow. It returns false if fresh is not set, or the call is text.
func (p *Parser) returnToText(fresh bool) bool {
	p.source.endCall()
	fresh = p.endCall() && fresh
	if p.home != nil {
		p.mode = p.home
		p.home.resume(p, fresh)
		return fresh
	}
	if p.mode, p.fresh = (inText{}), fresh; fresh {
		p.line = textLine{}
	}
	return fresh
}

// A textLine is a line of text, as far as it may begin or end a block of code in Markdown.
type textLine struct {
	begun bool // the line has a byte
	mark  byte // the first byte
	marks int  // the number of mark at the line's beginning, if it is a backtick or a tilde
	ended bool // another byte follows these
	rest  bool // more than white space follows them
	ticks bool // a backtick is in that
}

// add adds a byte to the line.
func (l *textLine) add(c byte) {
	switch {
	case !l.begun:
		if l.begun, l.mark = true, c; c == '`' || c == '~' {
			l.marks = 1
		}
	case c == l.mark && l.marks > 0 && !l.ended:
		l.marks++
	default:
		l.ended = true
		l.rest = l.rest || !isSpace(c)
		l.ticks = l.ticks || c == '`'
	}
}

// opensBlock reports whether the line begins a block of code. Code within a line is in backticks too.
func (l textLine) opensBlock() bool { return l.marks >= 3 && !(l.mark == '`' && l.ticks) }

// closesBlock reports whether the line ends the block that opener began.
func (l textLine) closesBlock(opener textLine) bool {
	return opener.marks > 0 && l.mark == opener.mark && l.marks >= opener.marks && !l.rest
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
