package dialect

import (
	"bytes"
	"slices"
)

const (
	maxNested = 4  // calls open within one another
	maxAgain  = 8  // values of an answer that are read again
	maxTag    = 32 // bytes of a tag
)

// A nestedCall reads the calls within a parameter's value as text.
type nestedCall struct {
	openers []string    // the texts that open one; none: such calls do not count
	parser  *Parser     // reads what may be one; nil while none has begun
	first   *valueState // before the first of them that was whole, or a tag in data
}

// A valueState is the state of a value before a call within it.
type valueState struct {
	value   memberValue // held is what does not count, if the value is read again
	at      int         // the place of that in the answer
	run     int         // bytes of the arguments
	slipped bool
}

// newNestedCall returns a reader of the calls within a value.
func newNestedCall(p *Parser, f *memberSyntax) nestedCall {
	if p.depth == maxNested || p.again == maxAgain {
		return nestedCall{}
	}
	openers := p.dialect.calls.openers()
	if f.function != "" {
		openers = append(openers, f.function)
	}
	return nestedCall{openers: openers}
}

// beginNested begins a call within the value. held is its opener.
func (v *memberValue) beginNested(p *Parser) {
	opener := string(v.held)
	v.keepState(p)
	q := p.trial()
	q.strict, q.depth, q.openers = false, p.depth+1, p.dialect.calls.openers()
	q.atLine, q.source = q.openers, source{text: []byte(opener), at: len(opener)}
	if v.nested.parser = q; opener == v.syntax.function {
		q.mode = &memberCall{attempt: opened(opener), syntax: v.syntax, at: memberInName}
		return
	}
	q.acceptOpener(opener)
}

// keepState keeps the state of the value before held, if it keeps no earlier one.
func (v *memberValue) keepState(p *Parser) {
	if v.nested.first != nil {
		return
	}
	value := *v
	value.held = bytes.Clone(v.held)
	v.nested.first = &valueState{value, p.source.at - len(v.held), len(p.run), p.slipped}
}

// readNested reads a byte of what may be a call within the value. The bytes after it are read again.
func (v *memberValue) readNested(p *Parser, c byte) {
	q := v.nested.parser
	q.Push(string([]byte{c}))
	if _, text := q.mode.(inText); !text {
		return
	}
	held, end := v.held, max(1, len(v.held)-maxTag)
	v.nested.parser, v.held = nil, nil
	if last := len(q.source.calls) - 1; last >= 0 {
		end = q.source.calls[last][1]
	} else if v.nested.first.at+len(held) == p.source.at && !v.syntax.stopsIn(held) {
		v.nested.first = nil
	}
	for _, c := range held[:end] {
		v.addByte(p, c)
	}
	p.reread(held[end:])
}

// stopsIn reports whether a tag that may end a value is in text.
func (f *memberSyntax) stopsIn(text []byte) bool {
	return slices.ContainsFunc(f.stops, func(stop string) bool { return bytes.Contains(text, []byte(stop)) })
}

// readAgain reads the value again, and what follows it, because the answer ended in it. The first call within
// it is text then, and so is the tag of data.
func (m *memberCall) readAgain(p *Parser) {
	first, text := m.value.nested.first, p.source.text[:p.source.at]
	p.run, p.slipped = p.run[:first.run], first.slipped
	p.again++
	m.value = first.value
	opener := m.value.held
	if m.value.inData(p) {
		m.value.dataEnded, opener = true, nil
	}
	m.value.held, m.value.nested = nil, newNestedCall(p, m.syntax)
	for _, c := range opener {
		m.value.addByte(p, c)
	}
	p.reread(text[first.at+len(opener):])
}
