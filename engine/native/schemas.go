package native

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxBroken bounds the texts inside a Lark grammar that look like a schema and are no JSON. Each
// is read up to its fault.
const maxBroken = 100

// schemas counts what the schemas of one grammar ask of llguidance.
type schemas struct {
	multiples multiples
	merges    merges
	names     names
	low       bool // a number is too low
}

// checkSchemas refuses a grammar whose schemas would take all time or all memory. llguidance does
// not bound four things: numbers of multipleOf, numbers below all that it counts with, names of
// properties, and schemas that hold together.
func checkSchemas(g Grammar) error {
	var s schemas
	if g.JSON != nil {
		s.read(string(g.JSON))
	}
	broken := 0
	for rest := g.Lark; ; {
		_, after, ok := strings.Cut(rest, "%json")
		if !ok {
			break
		}
		rest = after
		if !strings.HasPrefix(strings.TrimLeft(after, " \t\r\n\f"), "{") {
			continue // an empty schema, a text or a comment
		}
		read, ok := s.read(after)
		if rest = after[read:]; ok {
			continue
		}
		if broken++; broken > maxBroken {
			return tooMuch("it has more than %d schemas that are no JSON", maxBroken)
		}
	}
	if s.names.err != nil {
		return s.names.err
	}
	if s.low {
		return tooMuch("a number is -2^63 or less: leave it out")
	}
	if !s.multiples.fit() {
		return tooMuch("multipleOf asks for too much: the least number that is a multiple of all of "+
			"them, without tenfold ones, may be %d at most", maxMultiple)
	}
	if s.merges.made > maxMerged {
		return tooMuch("too much is to hold together: allOf, anyOf, oneOf, enum and $ref beside each "+
			"other, or beside other keywords, make more than %d schemas", maxMerged)
	}
	return nil
}

// tooMuch returns the error of a limit.
func tooMuch(format string, args ...any) *GrammarError {
	return &GrammarError{Kind: KindLimit, Message: fmt.Sprintf(format, args...)}
}

// read counts the JSON value that a text begins with, and returns its length. ok is false if it is
// no JSON. llguidance refuses that later.
func (s *schemas) read(text string) (length int64, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	var v any
	if d.Decode(&v) != nil {
		return 0, false
	}
	s.multiples.add(v)
	s.merges.add(v)
	s.names.add(v)
	s.low = s.low || tooLow(v, false)
	return d.InputOffset(), true
}
