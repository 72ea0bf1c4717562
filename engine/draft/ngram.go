package draft

import "tandem/engine/mlx"

// An Ngram drafts without weights (prompt lookup): it proposes what followed
// the last tokens where they occurred before, in the prompt or in the answer,
// and nothing where they did not. With Options.Prediction it follows that text
// first. The proposals are certain guesses: LogQ is nil.
type Ngram struct{}

// Name returns ngram.
func (Ngram) Name() string { return "ngram" }

// Taps returns nil.
func (Ngram) Taps() []int { return nil }

// MaxDrafts returns the drafts that a block of the largest size holds.
func (Ngram) MaxDrafts() int { return MaxDepth }

// Open begins a request. Its draft is an *NgramDraft.
func (Ngram) Open(_ *mlx.Scope, o Options) (Draft, error) { return newNgramDraft(o), nil }

// A Peeker is a Draft that knows before the round, at no cost, how many tokens
// it can propose.
type Peeker interface {
	// Peek returns how many tokens, n at most, Propose would return.
	Peek(history []int32, n int) int
}

// An NgramDraft is the Ngram's draft of one request. A lookup costs the same
// however long the history is.
type NgramDraft struct {
	lookup     *lookup
	prediction *prediction // nil without one

	searched int // length of the history that found belongs to
	found    []int32
	foretold bool // found is of the prediction
	offer    offer
}

// An offer is a proposal made of the prediction and not yet compared with what
// came.
type offer struct {
	at     int // length of the history when it was made
	tokens []int32

	accepted, rejected int // of all offers before
}

func newNgramDraft(o Options) *NgramDraft {
	d := &NgramDraft{lookup: newLookup()}
	if len(o.Prediction) > 0 {
		d.prediction = newPrediction(o.Prediction, len(o.Prompt))
	}
	return d
}

// Peek implements Peeker.
func (d *NgramDraft) Peek(history []int32, n int) int {
	d.search(history)
	return min(n, len(d.found))
}

// Propose implements Draft.
func (d *NgramDraft) Propose(s *mlx.Scope, history []int32, n int) Proposal {
	tokens := d.propose(history, n)
	if len(tokens) == 0 {
		return Proposal{}
	}
	return Proposal{N: len(tokens), Tokens: mlx.New(s, tokens, len(tokens))}
}

func (d *NgramDraft) propose(history []int32, n int) []int32 {
	n = d.Peek(history, n)
	tokens := d.found[:n:n]
	if d.foretold && n > 0 {
		d.offer.settle(history)
		d.offer.at, d.offer.tokens = len(history), tokens
	}
	return tokens
}

// search finds what may follow history, MaxDepth tokens at most.
func (d *NgramDraft) search(history []int32) {
	if d.searched == len(history) {
		return
	}
	d.searched = len(history)
	d.lookup.extend(history, len(history)-1) // an occurrence has a successor
	if d.prediction != nil {
		d.prediction.follow(history)
		if next := d.prediction.next(); len(next) > 0 {
			d.found, d.foretold = next[:min(len(next), MaxDepth)], true
			return
		}
	}
	d.found, d.foretold = nil, false
	best := match{}
	for _, m := range d.lookup.matches(history, history) {
		// The longest match; of those the newest, unless it lies so near the
		// end that an older one was followed by more.
		if m.length > best.length || m.length == best.length &&
			min(len(history)-m.end, enough) > len(history)-best.end {
			best = m
		}
	}
	if best.length > 0 {
		d.found = history[best.end:min(best.end+MaxDepth, len(history))]
	}
}

// Predicted implements Predictor.
func (d *NgramDraft) Predicted(history []int32) (accepted, rejected int) {
	d.offer.settle(history)
	return d.offer.accepted, d.offer.rejected
}

func (o *offer) settle(history []int32) {
	came := history[min(o.at, len(history)):]
	n := 0
	for n < min(len(came), len(o.tokens)) && came[n] == o.tokens[n] {
		n++
	}
	o.accepted += n
	o.rejected += len(o.tokens) - n
	o.tokens = nil
}

// Committed implements Draft; the history says it all.
func (d *NgramDraft) Committed(*mlx.Scope, []int32, int, []*mlx.Array) {}

// Arrays implements Draft.
func (d *NgramDraft) Arrays() []*mlx.Array { return nil }

// Free implements Draft.
func (d *NgramDraft) Free(*mlx.Scope) {}
