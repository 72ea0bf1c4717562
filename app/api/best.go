package api

import (
	"cmp"
	"math"
	"slices"
	"tandem/app/wire"
)

// ReadBestOf reads best_of: how many continuations of a prompt are computed to return the n best.
// The best are known only at their end, so a stream cannot have them.
func (p *Params) ReadBestOf(f *wire.Fields) {
	p.bestOf = p.N
	b := f.Whole("best_of")
	if b == nil {
		return
	}
	p.bestOf = *b
	switch {
	case p.bestOf < p.N:
		f.Fail("best_of", "must be at least n (%d), not %d.", p.N, p.bestOf)
	case p.bestOf > p.N && p.Stream:
		f.Fail("best_of", "must be n (%d) in a stream: the best are known only at their end.", p.N)
	}
}

// ranked reports whether more is computed than is returned.
func (p *Params) ranked() bool { return p.bestOf > p.N }

// Shown returns the choices of a whole reply: all of them, or the best of each prompt, the best
// first.
func (r *Reply) Shown() []*Choice {
	p := r.Params
	if !p.ranked() {
		return r.Choices
	}
	var shown []*Choice
	for group := range slices.Chunk(r.Choices, p.bestOf) {
		best := slices.SortedStableFunc(slices.Values(group), func(a, b *Choice) int {
			return cmp.Compare(b.meanLogprob(), a.meanLogprob())
		})
		for _, c := range best[:p.N] {
			c.Index = len(shown)
			shown = append(shown, c)
		}
	}
	return shown
}

// meanLogprob is the mean over a choice's tokens. A choice without log-probabilities comes last.
func (c *Choice) meanLogprob() float64 {
	sum, n := 0.0, 0
	for _, t := range c.Tokens {
		if t.Logprobs != nil {
			sum += float64(t.Logprobs.Logprob)
			n++
		}
	}
	if n == 0 {
		return math.Inf(-1)
	}
	return sum / float64(n)
}
