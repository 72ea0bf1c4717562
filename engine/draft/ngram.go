package draft

import "tandem/engine/mlx"

// An Ngram drafts without weights (prompt lookup). It proposes what followed the last tokens where
// they occurred before, in the prompt or in the answer, and nothing where they did not occur. Its
// proposals have no distribution: LogQ is nil.
type Ngram struct{ weightless }

// Name implements Drafter.
func (Ngram) Name() string { return "ngram" }

// Open begins a request. Its draft is an *ngramDraft.
func (Ngram) Open(*mlx.Scope, Options) (Draft, error) { return newNgramDraft(), nil }

// weightless is embedded by drafters that read nothing but tokens.
type weightless struct{}

// Taps implements Drafter.
func (weightless) Taps() []int { return nil }

// MaxDrafts implements Drafter: the drafts that a block of the largest size holds.
func (weightless) MaxDrafts() int { return MaxDepth }

// A Peeker is a Draft that knows before the round, at no cost, how many tokens it can propose.
type Peeker interface {
	// Peek returns how many tokens, n at most, Propose would return.
	Peek(history []int32, n int) int
}

// lookedUp are the tokens that were found for the end of a history. It is a Lookup and a Draft that
// keeps nothing on the device.
type lookedUp struct {
	stateless
	find func(history []int32) ([]int32, Features) // at most MaxDepth tokens

	searched int // length of the history that found and features belong to
	found    []int32
	features Features
}

func (d *lookedUp) search(history []int32) {
	if d.searched != len(history) {
		d.searched = len(history)
		d.found, d.features = d.find(history)
	}
}

// Peek implements Peeker.
func (d *lookedUp) Peek(history []int32, n int) int {
	d.search(history)
	return min(n, len(d.found))
}

// Features implements Featured.
func (d *lookedUp) Features(history []int32) Features {
	d.search(history)
	return d.features
}

// Preview implements Previewer.
func (d *lookedUp) Preview(history []int32, n int) []int32 {
	n = d.Peek(history, n)
	return d.found[:n:n]
}

// Propose implements Draft.
func (d *lookedUp) Propose(s *mlx.Scope, history []int32, n int) Proposal {
	return certain(s, d.Preview(history, n))
}

// stateless is embedded by drafts that keep nothing on the device.
type stateless struct{}

// Committed implements Draft. The history is enough.
func (stateless) Committed(*mlx.Scope, []int32, int, []*mlx.Array) {}

// Arrays implements Draft.
func (stateless) Arrays() []*mlx.Array { return nil }

// Free implements Draft.
func (stateless) Free(*mlx.Scope) {}

// An ngramDraft is the Ngram's draft of one request. A lookup costs the same
// however long the history is.
type ngramDraft struct {
	lookedUp
	lookup *lookup
}

func newNgramDraft() *ngramDraft {
	d := &ngramDraft{lookup: newLookup()}
	d.find = d.lookUp
	return d
}

// certain is a proposal without a distribution.
func certain(s *mlx.Scope, tokens []int32) Proposal {
	if len(tokens) == 0 {
		return Proposal{}
	}
	return Proposal{N: len(tokens), Tokens: mlx.New(s, tokens, len(tokens))}
}

// lookUp returns what followed the end of history where it occurred before.
func (d *ngramDraft) lookUp(history []int32) ([]int32, Features) {
	d.lookup.extend(history, len(history)-1) // an occurrence has a successor
	best := match{}
	matches := d.lookup.matches(history, history)
	for _, m := range matches {
		// The longest match wins. Of equal ones it is the newest, unless it is so near the end that
		// an older one was followed by more.
		if m.length > best.length || m.length == best.length &&
			min(len(history)-m.end, enough) > len(history)-best.end {
			best = m
		}
	}
	if best.length == 0 {
		return nil, Features{}
	}
	return history[best.end:min(best.end+MaxDepth, len(history))],
		d.describe(history, best, matches)
}

// describe returns the features of the match that is proposed.
func (d *ngramDraft) describe(history []int32, best match, all []match) Features {
	f := Features{Match: agree(history[:best.end], history, maxFeature)}
	same := 0
	for _, m := range all {
		if m.length < best.length {
			continue
		}
		f.Count++
		if history[m.end] == history[best.end] {
			same++
		}
	}
	f.Share = float64(same) / float64(f.Count)
	return f
}
