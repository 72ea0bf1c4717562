package dialect

// A thought reads a thought up to the tag that closes it.
type thought struct {
	begun    bool   // a byte other than a newline was read
	held     []byte // bytes that may be the beginning of the closing tag
	newlines int    // newlines before held, not passed on yet
}

// enterThought makes the parser read a thought.
func (p *Parser) enterThought() { p.mode, p.hasMarkup, p.source.open = &thought{}, true, false }

func (t *thought) read(p *Parser, c byte) {
	closing := p.dialect.thought.close
	for t.held = append(t.held, c); len(t.held) > 0; t.held = t.held[1:] {
		if text, whole := matchPrefix(t.held, []string{closing}); whole {
			p.returnToText(true)
			p.skipNewlines = true
			return
		} else if text != "" {
			return
		}
		t.addByte(p, t.held[0])
	}
	t.held = t.held[:0]
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
	t.held = nil
	for _, c := range held {
		t.addByte(p, c)
	}
	t.flushNewlines(p)
}
