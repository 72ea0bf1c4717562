package dialect

import "bytes"

// An attempt is text that may become a call.
type attempt struct {
	raw    []byte // the bytes read before the call was certain
	opener int    // bytes at the beginning of raw in which nothing else can begin
	called bool   // the text is a call
	lead   int    // bytes before raw that belong to the call
	inner  bool   // its opener was left out or came twice, so that it must name a tool and be whole
}

// opened returns an attempt that begins with the text of an opener.
func opened(opener string) attempt { return attempt{raw: []byte(opener), opener: len(opener)} }

// isNext reports whether the attempt begins with the comma after another call.
func (a *attempt) isNext() bool { return !a.called && len(a.raw) > 0 && a.raw[0] == ',' }

// openInner enters the mode that reads a call whose opener was left out, and makes it read the text
// after that.
func (p *Parser) openInner(text string) {
	p.dialect.calls.open(p, attempt{opener: len(text), inner: true}, "")
	for i := range len(text) {
		p.mode.read(p, text[i])
	}
}

// A doubledOpener reads an opener, which may come twice.
type doubledOpener struct {
	attempt
	opener  string
	scanner tagScanner
}

func (o *doubledOpener) read(p *Parser, c byte) {
	if !o.hold(p, c) {
		return
	}
	tag, ok := o.scanner.read(c, []string{o.opener})
	switch held := o.scanner.held; {
	case !ok:
		o.raw = o.raw[:len(o.raw)-len(held)]
		p.dialect.calls.open(p, o.attempt, o.opener)
		p.reread(held)
	case tag != "":
		o.attempt.opener, o.inner = len(o.raw), true
	}
}

func (o *doubledOpener) end(p *Parser, cut bool) {
	if !cut && p.source.open { // it is in place of the closing tag
		p.returnToText(true)
		return
	}
	o.finish(p, cut, true)
}

// hold keeps a byte until the call is certain. Beyond maxHeld bytes it rejects the attempt and
// returns false.
func (a *attempt) hold(p *Parser, c byte) bool {
	if a.called {
		return true
	}
	if a.raw = append(a.raw, c); len(a.raw) > maxHeld {
		a.reject(p)
		return false
	}
	return true
}

// accept makes the attempt a call of the named tool.
func (a *attempt) accept(p *Parser, name string) {
	p.beginCall(name, a.lead+len(a.raw))
	p.slipped = p.slipped || a.inner
	a.raw, a.called = nil, true
}

// reject turns the held bytes into text. It reads the last of them again, because another call or a
// thought may begin there.
func (a *attempt) reject(p *Parser) {
	p.flushSpace()
	p.source.unread(len(a.raw))
	p.returnToText(false)
	tail := min(max(a.opener, len(a.raw)-p.longest), len(a.raw))
	for _, c := range a.raw[:tail] {
		p.addText(c)
	}
	p.source.at += len(a.raw)
	p.reread(a.raw[tail:])
}

// finish ends the attempt at the end of the text. It is text, unless the text was cut: then a call
// that had begun is discarded, because half a call is useless to a reader. begun says that only a
// call begins this way.
func (a *attempt) finish(p *Parser, cut, begun bool) {
	if cut && (begun && !a.inner || p.forced) {
		a.raw, p.space = nil, p.space[:0]
		return
	}
	a.reject(p)
	p.mode.end(p, cut)
}

// finishNext ends an attempt in a list of calls, which may be no more than the comma after the last one.
func (a *attempt) finishNext(p *Parser, cut, begun bool) {
	if a.isNext() && len(bytes.TrimSpace(a.raw)) == 1 && !cut {
		p.returnToText(true)
		return
	}
	a.finish(p, cut, begun)
}

// fail ends a call at bytes that are not allowed in it, and reads rest as text. Before the call is
// certain it rejects the attempt, which already holds these bytes.
func (a *attempt) fail(p *Parser, rest ...byte) {
	if !a.called {
		a.reject(p)
		return
	}
	p.leaveCall(false, rest)
}

// leaveCall makes the parser read text again, beginning with rest: the last bytes read, which do not
// belong to the call. fresh says that the call has ended, see returnToText.
func (p *Parser) leaveCall(fresh bool, rest []byte) {
	p.source.unread(len(rest))
	p.returnToText(fresh)
	p.source.at += len(rest)
	p.reread(rest)
}

// reread reads b again in the current mode. b must be the last bytes read, which were not passed
// on.
func (p *Parser) reread(b []byte) {
	p.source.unread(len(b))
	for _, c := range b {
		p.source.at++
		p.mode.read(p, c)
	}
}

// A tagScanner reads white space and then one of several tags.
type tagScanner struct {
	held []byte // the bytes read so far
	tag  int    // the offset in held where the tag begins
}

// read reads the next byte. It returns the tag once it is complete. ok is false if none of the tags
// can follow.
func (l *tagScanner) read(c byte, tags []string) (tag string, ok bool) {
	l.held = append(l.held, c)
	if l.tag == len(l.held)-1 && isSpace(c) {
		l.tag++
		return "", len(l.held) <= maxSpace
	}
	tag, whole := matchPrefix(l.held[l.tag:], tags)
	if !whole {
		return "", tag != ""
	}
	*l = tagScanner{held: l.held[:0]}
	return tag, true
}

// begun reports whether a tag has begun.
func (l *tagScanner) begun() bool { return l.tag < len(l.held) }

// A callVariant reads white space and then the byte that decides which form a call has.
type callVariant struct {
	attempt
	choose func(a attempt, c byte) mode // returns nil if the text is not a call
}

func (f *callVariant) read(p *Parser, c byte) {
	if !isSpace(c) {
		if m := f.choose(f.attempt, c); m != nil {
			p.mode = m
			m.read(p, c)
			return
		}
	}
	if f.hold(p, c) && !isSpace(c) {
		f.reject(p)
	}
}

func (f *callVariant) end(p *Parser, cut bool) { f.finish(p, cut, true) }

// readClosing ends a call and reads the tags that may close it.
func (p *Parser) readClosing(tags ...string) {
	if p.returnToText(true) && len(tags) > 0 {
		p.mode = &closingTags{tags: tags}
	}
}

// closingTags reads the tags that close a call, in their order, and the white space between them.
// Any tag may be missing, or come twice.
type closingTags struct {
	tags    []string
	scanner tagScanner
}

func (m *closingTags) read(p *Parser, c byte) {
	tag, ok := m.scanner.read(c, m.tags)
	if !ok {
		p.leaveCall(true, m.scanner.held)
		return
	}
	for tag != "" && m.tags[0] != tag {
		m.tags = m.tags[1:]
	}
}

func (m *closingTags) end(p *Parser, cut bool) {
	p.returnToText(true)
	if m.scanner.begun() && !cut { // half a tag is text
		p.reread(m.scanner.held)
		p.mode.end(p, cut)
	}
}
