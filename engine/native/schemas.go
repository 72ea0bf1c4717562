package native

import (
	"encoding/json"
	"fmt"
	"strings"
)

// mostBroken bounds what looks like a schema inside a Lark grammar and is none, as
// each is read as far as it goes.
const mostBroken = 100

// schemas are those of a grammar, as far as something is to be known of them before
// llguidance sees them.
type schemas struct {
	multiples multiples
	merges    merges
	names     names
}

// checkSchemas refuses a grammar whose schemas would take all time or all memory, which
// llguidance does not bound: for the numbers in them, for the names of properties, or
// for what it makes of several that are to hold together.
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
			continue // a schema of nothing, or a text or a comment
		}
		read, ok := s.read(after)
		if rest = after[read:]; ok {
			continue
		}
		if broken++; broken > mostBroken {
			return &GrammarError{Kind: KindLimit, Message: fmt.Sprintf("it has more than %d schemas that are no JSON", mostBroken)}
		}
	}
	if s.names.err != nil {
		return s.names.err
	}
	if !s.multiples.fit() {
		return &GrammarError{Kind: KindLimit, Message: fmt.Sprintf("multipleOf asks for too much: the least number that is a multiple of all of them, without tenfold ones, may be %d at most", mostMultiple)}
	}
	if s.merges.made > mostMerged {
		return &GrammarError{Kind: KindLimit, Message: fmt.Sprintf("too much is to hold together: allOf, anyOf, oneOf, enum and $ref beside each other, or beside other keywords, make more than %d schemas", mostMerged)}
	}
	return nil
}

// read takes in the value that a text begins with, and returns its length; 0 if it is no
// JSON, which is refused elsewhere.
func (s *schemas) read(text string) (length int64, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	var v any
	if d.Decode(&v) != nil {
		return 0, false
	}
	s.multiples.add(v)
	s.merges.add(v)
	s.names.add(v)
	return d.InputOffset(), true
}
