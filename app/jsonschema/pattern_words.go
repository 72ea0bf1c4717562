package jsonschema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	// fewWords bounds the names for which a pattern of names becomes properties.
	fewWords = 100
	// manyWords is more than the names that an object may have.
	manyWords = 2001
	// maxWordBytes bounds the bytes of the words of a pattern.
	maxWordBytes = 1 << 12
)

// String returns the pattern in the form that Go and Rust share.
func (p *pattern) String() string {
	var b strings.Builder
	p.write(&b)
	return b.String()
}

func (p *pattern) write(b *strings.Builder) {
	switch p.op {
	case opSet:
		p.set.write(b)
	case opStart:
		b.WriteByte('^')
	case opEnd:
		b.WriteByte('$')
	case opSequence:
		for _, x := range p.parts {
			x.writeGrouped(b, x.op == opChoice)
		}
	case opChoice:
		for i, x := range p.parts {
			if i > 0 {
				b.WriteByte('|')
			}
			x.write(b)
		}
	case opRepeat:
		p.parts[0].writeGrouped(b, p.parts[0].op != opSet)
		switch {
		case p.min == 0 && p.max == unbounded:
			b.WriteByte('*')
		case p.min == 1 && p.max == unbounded:
			b.WriteByte('+')
		case p.min == 0 && p.max == 1:
			b.WriteByte('?')
		case p.max == unbounded:
			fmt.Fprintf(b, "{%d,}", p.min)
		default:
			fmt.Fprintf(b, "{%d,%d}", p.min, p.max)
		}
	}
}

func (p *pattern) writeGrouped(b *strings.Builder, group bool) {
	if !group {
		p.write(b)
		return
	}
	b.WriteString("(?:")
	p.write(b)
	b.WriteByte(')')
}

// maxMatched bounds the steps of all matches in a document: bytes of strings times parts of
// patterns.
const maxMatched = 50_000_000

// matcher returns a function that reports whether a string may have a match. Beyond maxMatched it
// reports true. It returns nil for a pattern that Go does not compile.
func (d *Document) matcher(p *pattern) func(text string) bool {
	re, err := regexp.Compile(p.String())
	if err != nil {
		return nil
	}
	steps := p.steps()
	return func(text string) bool {
		d.matched += (len(text) + 1) * steps
		return d.matched > maxMatched || re.MatchString(text)
	}
}

// steps returns the number of parts of a pattern, with their repeats. Go compiles no pattern with
// many thousands of one.
func (p *pattern) steps() int {
	n := 1
	for _, x := range p.parts {
		n += x.steps()
	}
	if p.op == opRepeat {
		n *= max(1, p.min, p.max)
	}
	return n
}

// A word is a string that a pattern matches, and whether it extends to each end of the string.
type word struct {
	text       string
	start, end bool
}

// words returns the strings that have a match, if they are at most n.
func (p *pattern) words(n int) (texts []string, ok bool) {
	all, ok := p.expand(n)
	if !ok {
		return nil, false
	}
	for _, w := range all {
		if !w.start || !w.end {
			return nil, false
		}
		texts = append(texts, w.text)
	}
	slices.Sort(texts)
	return slices.Compact(texts), true
}

// expand returns the words of a pattern, if these are at most n.
func (p *pattern) expand(n int) (all []word, ok bool) {
	switch p.op {
	case opStart:
		return []word{{start: true}}, true
	case opEnd:
		return []word{{end: true}}, true
	case opSet:
		runes, ok := p.set.few(n)
		for _, c := range runes {
			all = append(all, word{text: string(c)})
		}
		return all, ok
	case opChoice:
		for _, x := range p.parts {
			more, ok := x.expand(n)
			if all = append(all, more...); !ok || len(all) > n {
				return nil, false
			}
		}
		return all, true
	case opRepeat:
		return p.expandRepeat(n)
	}
	all = []word{{}}
	for _, x := range p.parts {
		next, ok := x.expand(n)
		if !ok {
			return nil, false
		}
		if all, ok = product(all, next, n); !ok {
			return nil, false
		}
	}
	return all, true
}

func (p *pattern) expandRepeat(n int) (all []word, ok bool) {
	of, ok := p.parts[0].expand(n)
	if !ok || p.max == unbounded && len(of) > 0 || p.max > n && len(of) > 1 || p.max > maxWordBytes {
		return nil, false
	}
	power := []word{{}}
	for i := 0; ; i++ {
		if i >= p.min {
			if all = append(all, power...); len(all) > n {
				return nil, false
			}
		}
		if i == p.max || len(power) == 0 {
			return all, true
		}
		if power, ok = product(power, of, n); !ok {
			return nil, false
		}
	}
}

// product returns the words of two patterns in a row.
func product(a, b []word, n int) (all []word, ok bool) {
	if len(a)*len(b) > n {
		return nil, false
	}
	size := 0
	for _, x := range a {
		for _, y := range b {
			all = append(all, word{x.text + y.text, x.start || y.start, x.end || y.end})
			if size += len(x.text) + len(y.text); size > maxWordBytes {
				return nil, false
			}
		}
	}
	return all, true
}

// lengths returns the least and the greatest number of characters of a match. The greatest may be
// unbounded.
func (p *pattern) lengths() (lo, hi int) {
	if p.op == opSet {
		return 1, 1
	}
	endless := false
	for i, x := range p.parts {
		low, high := x.lengths()
		switch {
		case p.op == opRepeat && (high == unbounded || p.max == unbounded):
			lo, hi = min(low*p.min, maxCount), unbounded
		case p.op == opRepeat:
			lo, hi = min(low*p.min, maxCount), high*p.max
		case p.op == opChoice && i > 0:
			lo, hi = min(lo, low), max(hi, high)
			endless = endless || high == unbounded
		case p.op == opChoice:
			lo, hi, endless = low, high, high == unbounded
		default:
			lo, hi = min(lo+low, maxCount), hi+high
			endless = endless || high == unbounded
		}
	}
	if endless || hi > maxCount {
		hi = unbounded
	}
	return lo, hi
}

// wholeText reports whether a match is surely all of its string.
func (p *pattern) wholeText() bool {
	switch p.op {
	case opChoice:
		return !slices.ContainsFunc(p.parts, func(x *pattern) bool { return !x.wholeText() })
	case opSequence:
		n := len(p.parts)
		return n > 1 && p.parts[0].op == opStart && p.parts[n-1].op == opEnd
	}
	return false
}

// matchesAll reports whether every string surely has a match.
func (p *pattern) matchesAll() bool {
	for _, w := range p.empties() {
		if !w.start || !w.end {
			return true
		}
	}
	if p.op != opSequence || len(p.parts) != 3 {
		return false
	}
	middle := p.parts[1]
	return middle.op == opRepeat && middle.min == 0 && middle.max == unbounded &&
		middle.parts[0].op == opSet && middle.parts[0].set.all()
}

// empties returns the ways in which the empty string matches.
func (p *pattern) empties() (all []word) {
	switch p.op {
	case opStart:
		return []word{{start: true}}
	case opEnd:
		return []word{{end: true}}
	case opSet:
		return nil
	case opRepeat:
		if p.min == 0 {
			return []word{{}}
		}
		return p.parts[0].empties()
	case opChoice:
		for _, x := range p.parts {
			all = distinct(append(all, x.empties()...))
		}
		return all
	}
	all = []word{{}}
	for _, x := range p.parts {
		next, _ := product(all, x.empties(), manyWords)
		all = distinct(next)
	}
	return all
}

func distinct(all []word) []word {
	var list []word
	for _, w := range all {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// first returns the characters with which a matching string begins. ok is false if that is not
// known.
func (p *pattern) first() (s set, ok bool) {
	switch p.op {
	case opChoice:
		for i, x := range p.parts {
			y, ok := x.first()
			if !ok || i > 0 && (y.fold || y.not || s.fold || s.not) {
				return set{}, false
			}
			if i == 0 {
				s = y
			} else {
				s = s.with(y)
			}
		}
		return s, true
	case opSequence:
		if len(p.parts) > 1 && p.parts[0].op == opStart {
			return p.parts[1].begin()
		}
	}
	return set{}, false
}

// begin returns the characters with which the pattern's own match begins.
func (p *pattern) begin() (set, bool) {
	switch p.op {
	case opSet:
		return p.set, true
	case opSequence:
		if len(p.parts) > 0 {
			return p.parts[0].begin()
		}
	case opRepeat:
		if p.min > 0 {
			return p.parts[0].begin()
		}
	}
	return set{}, false
}
