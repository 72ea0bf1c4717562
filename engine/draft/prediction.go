package draft

// How a lost prediction is found again.
const (
	// A suffix of nearMatch tokens will do within nearBack tokens before and
	// nearAhead after the place where the output left the prediction: edits
	// are local. Elsewhere it takes minMatch.
	nearMatch = 2
	nearBack  = 8
	nearAhead = 64

	// maxReplaced is how many tokens in a row are taken for replacements of
	// as many predicted ones before the place is given up.
	maxReplaced = 3
)

// A prediction is a text that the output is expected to follow, with edits. It
// keeps the place in that text where the output stands.
type prediction struct {
	tokens  []int32
	lookup  *lookup
	prompt  int // tokens of the history before the output
	seen    int // tokens of the history followed
	at      int // the next token expected, or the place to look around
	differs int // tokens in a row that were not the expected ones
}

func newPrediction(tokens []int32, prompt int) *prediction {
	p := &prediction{tokens: tokens, lookup: newLookup(), prompt: prompt, seen: prompt}
	p.lookup.extend(tokens, len(tokens)-1)
	return p
}

// next returns what is expected to come, nil if the place is lost.
func (p *prediction) next() []int32 {
	if p.differs > maxReplaced {
		return nil
	}
	return p.tokens[p.at:]
}

// follow takes in the tokens of history that came since the last call.
func (p *prediction) follow(history []int32) {
	for ; p.seen < len(history); p.seen++ {
		if p.at < len(p.tokens) && p.tokens[p.at] == history[p.seen] && p.differs <= maxReplaced {
			p.at++
			p.differs = 0
			continue
		}
		p.differs++
		if at, ok := p.place(history[p.prompt : p.seen+1]); ok {
			p.at, p.differs = at, 0
		} else if p.differs <= maxReplaced {
			p.at = min(p.at+1, len(p.tokens))
		}
	}
}

// place looks for the end of output in the prediction: the longest match, and
// of those the nearest to where it was last seen.
func (p *prediction) place(output []int32) (int, bool) {
	best := match{length: nearMatch - 1}
	consider := func(m match) {
		if m.length > best.length || m.length == best.length && distance(m.end, p.at) < distance(best.end, p.at) {
			best = m
		}
	}
	for e := max(1, p.at-nearBack); e <= min(len(p.tokens), p.at+nearAhead); e++ {
		if n := common(p.tokens[:e], output); n >= nearMatch {
			consider(match{e, n})
		}
	}
	if best.length < nearMatch {
		for _, m := range p.lookup.matches(p.tokens, output) {
			consider(m)
		}
	}
	return best.end, best.length >= nearMatch
}

func distance(a, b int) int { return max(a-b, b-a) }
