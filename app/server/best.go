package server

import (
	"cmp"
	"math"
	"slices"
)

// readBestOf reads of how many continuations of a prompt the n best are returned.
// Which they are is known at their end, so that none is streamed.
func (p *params) readBestOf(f *fields) {
	p.bestOf = p.n
	b := f.int("best_of", 1, maxN)
	if b == nil {
		return
	}
	p.bestOf = *b
	switch {
	case p.bestOf < p.n:
		f.fail("best_of", "must be at least n (%d), not %d.", p.n, p.bestOf)
	case p.bestOf > p.n && p.stream:
		f.fail("best_of", "must be n (%d) in a stream: which are the best is known at their end.", p.n)
	}
}

// ranked reports whether not all that is computed is returned.
func (p *params) ranked() bool { return p.bestOf > p.n }

// shown returns the choices of a whole reply: all of them, or the best of each
// prompt, the best first.
func (r *reply) shown() []*choice {
	p := r.params
	if !p.ranked() {
		return r.choices
	}
	var shown []*choice
	for group := range slices.Chunk(r.choices, p.bestOf) {
		best := slices.SortedStableFunc(slices.Values(group), func(a, b *choice) int {
			return cmp.Compare(b.meanLogprob(), a.meanLogprob())
		})
		for _, c := range best[:p.n] {
			c.index = len(shown)
			shown = append(shown, c)
		}
	}
	return shown
}

// meanLogprob is that of a choice's tokens. One without any comes last.
func (c *choice) meanLogprob() float64 {
	sum, n := 0.0, 0
	for _, t := range c.toks {
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
