package dialect

import "bytes"

// A thought reads a thought up to the tag that closes it. A call within it ends the thought, if the
// model forgot that tag: the call is whole and names a tool, and no closing tag comes until the model
// ends the answer.
type thought struct {
	begun    bool   // a byte other than a newline was read
	held     []byte // bytes that may be the beginning of the closing tag, or of a call
	newlines int    // newlines before held, not passed on yet

	call *Parser // reads held, which may be a call and what follows; nil while no call has begun
}

// enterThought makes the parser read a thought.
func (p *Parser) enterThought() { p.mode, p.hasMarkup, p.source.open = &thought{}, true, false }

func (t *thought) read(p *Parser, c byte) {
	if t.held = append(t.held, c); t.call != nil {
		t.readCall(p, c)
		return
	}
	closing := p.dialect.thought.close
	for ; len(t.held) > 0; t.held = t.held[1:] {
		if text, whole := matchPrefix(t.held, []string{closing}); whole {
			t.close(p)
			return
		} else if text != "" {
			return
		}
		text, whole := matchPrefix(t.held, t.openers(p))
		if text != "" && !whole {
			return
		}
		if whole && text != p.dialect.thought.open {
			t.call = p.trial()
			t.call.Push(string(t.held))
			return
		}
		t.addByte(p, t.held[0])
	}
	t.held = t.held[:0]
}

// openers returns the texts that open a call here.
func (t *thought) openers(p *Parser) []string {
	switch {
	case p.tools == nil:
		return nil
	case t.newlines > 0 || !t.begun:
		return p.atLine
	}
	return p.openers
}

// readCall reads a byte of what may be a call, or may follow one.
func (t *thought) readCall(p *Parser, c byte) {
	if text, ok := bytes.CutSuffix(t.held, []byte(p.dialect.thought.close)); ok {
		for _, c := range text {
			t.addByte(p, c)
		}
		t.close(p)
		return
	}
	if t.call.Push(string([]byte{c})); !t.call.idle() && len(t.held) <= maxHeld {
		return
	}
	held := t.held
	tail := max(1, len(held)-p.longest) // the last bytes may begin something
	for _, c := range held[:tail] {
		t.addByte(p, c)
	}
	t.held, t.call = nil, nil
	for _, c := range held[tail:] {
		t.read(p, c)
	}
}

// close ends the thought at its tag.
func (t *thought) close(p *Parser) {
	p.returnToText(true)
	p.skipNewlines = true
}

// addByte passes on a byte of the thought. It removes newlines at the beginning and holds back
// later ones, which may precede the closing tag.
func (t *thought) addByte(p *Parser, c byte) {
	if c == '\n' && (!t.begun || t.newlines < maxSpace) {
		if t.begun {
			t.newlines++
		}
		return
	}
	t.flushNewlines(p)
	t.begun = true
	p.emit(Reasoning, c)
}

// flushNewlines passes on the newlines held back within the thought.
func (t *thought) flushNewlines(p *Parser) {
	for ; t.newlines > 0; t.newlines-- {
		p.emit(Reasoning, '\n')
	}
}

func (t *thought) end(p *Parser, cut bool) {
	held := t.held
	if t.held = nil; t.call != nil && !cut {
		if t.call.Flush(); t.call.calls > 0 {
			p.strict = true
			p.returnToText(true)
			p.reread(held)
			p.mode.end(p, cut)
			return
		}
	}
	for _, c := range held {
		t.addByte(p, c)
	}
	t.flushNewlines(p)
}
