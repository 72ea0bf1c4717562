package draft

import "tandem/engine/mlx"

// A Prediction drafts the tokens that the client expects to be generated, Options.Prediction. Where
// the output has left that text it proposes nothing until the output matches it again. To a request
// without a prediction it proposes nothing. Its proposals have no distribution: LogQ is nil.
//
// It is a drafter separate from the Ngram because acceptance is learned separately: the acceptance
// of a prediction says nothing about lookups, nor about the next request's prediction.
type Prediction struct{ weightless }

// Name implements Drafter.
func (Prediction) Name() string { return "prediction" }

// Open begins a request. Its draft is a *PredictionDraft.
func (Prediction) Open(_ *mlx.Scope, o Options) (Draft, error) {
	if len(o.Prediction) == 0 {
		return nil, nil
	}
	d := &PredictionDraft{prediction: newPrediction(o.Prediction, len(o.Prompt))}
	d.find = d.lookUp
	return d, nil
}

// A PredictionDraft is the Prediction's draft of one request.
type PredictionDraft struct {
	lookedUp
	prediction *prediction
	proposed   proposed
}

// A proposed run is a proposal not yet compared with the output.
type proposed struct {
	at     int // length of the history when it was made
	tokens []int32

	accepted, rejected int // of all earlier proposals
}

// lookUp returns what is expected after history. The place in the prediction is one occurrence.
func (d *PredictionDraft) lookUp(history []int32) ([]int32, Features) {
	p := d.prediction
	p.follow(history)
	next := p.next()
	if len(next) == 0 {
		return nil, Features{}
	}
	match := agree(p.tokens[:p.at], history[p.prompt:], maxFeature)
	return next[:min(len(next), MaxDepth)], Features{Match: match, Count: 1, Share: 1}
}

// Propose implements Draft.
func (d *PredictionDraft) Propose(s *mlx.Scope, history []int32, n int) Proposal {
	return certain(s, d.propose(history, n))
}

func (d *PredictionDraft) propose(history []int32, n int) []int32 {
	list := d.Preview(history, n)
	if len(list) > 0 {
		d.proposed.count(history)
		d.proposed.at, d.proposed.tokens = len(history), list
	}
	return list
}

// Predicted returns how many tokens of the prediction were accepted, and how many were rejected.
// history is the request's tokens so far.
func (d *PredictionDraft) Predicted(history []int32) (accepted, rejected int) {
	d.proposed.count(history)
	return d.proposed.accepted, d.proposed.rejected
}

func (o *proposed) count(history []int32) {
	came := history[min(o.at, len(history)):]
	n := 0
	for n < min(len(came), len(o.tokens)) && came[n] == o.tokens[n] {
		n++
	}
	o.accepted += n
	o.rejected += len(o.tokens) - n
	o.tokens = nil
}

// How the place in a prediction is found again.
const (
	// Edits are local. So a suffix of nearMatch tokens is enough within nearBack tokens
	// before and nearAhead tokens after the place where the output left the prediction.
	// Elsewhere it takes minMatch.
	nearMatch = 2
	nearBack  = 8
	nearAhead = 64

	// maxReplaced is how many tokens in a row count as replacements of as many predicted
	// ones before the place is lost.
	maxReplaced = 3
)

// A prediction is a text that the output is expected to follow, with edits. It keeps the place of
// the output in that text.
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

// next returns the expected tokens, or nil if the place is lost.
func (p *prediction) next() []int32 {
	if p.differs > maxReplaced {
		return nil
	}
	return p.tokens[p.at:]
}

// follow compares the tokens of history since the last call with the prediction.
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

// place looks for the end of output in the prediction: the longest match, and among equal ones the
// nearest to where it was last seen.
func (p *prediction) place(output []int32) (int, bool) {
	best := match{length: nearMatch - 1}
	consider := func(m match) {
		nearer := distance(m.end, p.at) < distance(best.end, p.at)
		if m.length > best.length || m.length == best.length && nearer {
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
