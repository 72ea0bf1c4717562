package draft

import (
	"math"
	"slices"

	"tandem/engine/mlx"
)

// A Continued drafter goes on where a match ends: a proposal begins with all that a lookup has, and
// a trained drafter drafts the rest after it. It proposes only where a lookup has fewer tokens than
// the trained drafter could draft. Asked for fewer still, it gives the first ones.
//
// To begin with the first tokens of a long match does not pay: the lookup alone proposes as many for
// less. A network that was trained to go on from one token gains little from more
// (engine/log, 2026-11-26).
//
// It joins the drafts of other drafters of the request and keeps no state.
type Continued struct {
	trained Drafter
}

// NewContinued makes the drafter that goes on with a trained one. That belongs to the caller.
func NewContinued(trained Drafter) *Continued { return &Continued{trained} }

// CanContinue reports whether the drafts of a drafter can follow other drafts at the end of the
// history: whether it has a method Continues that returns true.
func CanContinue(d Drafter) bool {
	c, ok := d.(interface{ Continues() bool })
	return ok && c.Continues()
}

// Name implements Drafter.
func (d *Continued) Name() string { return "lookup+" + d.trained.Name() }

// Trained returns the drafter that it goes on with.
func (d *Continued) Trained() Drafter { return d.trained }

// Taps implements Drafter: the drafts that it joins get the outputs themselves.
func (d *Continued) Taps() []int { return nil }

// MaxDrafts implements Drafter.
func (d *Continued) MaxDrafts() int { return d.trained.MaxDrafts() }

// Open implements Drafter. Without Options.Lookups and Options.Trained it returns nil.
func (d *Continued) Open(_ *mlx.Scope, o Options) (Draft, error) {
	if len(o.Lookups) == 0 || o.Trained == nil {
		return nil, nil
	}
	return &continued{lookups: o.Lookups, trained: o.Trained, limit: d.trained.MaxDrafts()}, nil
}

// A Lookup is a draft whose proposals are known before the round, with what they rest on.
type Lookup interface {
	Previewer
	Featured
}

// continued is the draft of one request. The drafts that it joins are called themselves.
type continued struct {
	stateless
	lookups []Lookup
	trained Draft
	limit   int // drafts of the trained one, known ones included
}

// begin returns what a proposal begins with, from the lookup with the longest match, or nil if that
// has as many tokens as the longest proposal.
func (t *continued) begin(history []int32) (known []int32, f Features) {
	var best Lookup
	for _, l := range t.lookups {
		if x := l.Features(history); x.Count > 0 && (best == nil || x.Match > f.Match) {
			best, f = l, x
		}
	}
	if best == nil {
		return nil, Features{}
	}
	if known = best.Preview(history, t.limit); len(known) == 0 || len(known) == t.limit {
		return nil, Features{}
	}
	return known, f
}

// Peek implements Peeker.
func (t *continued) Peek(history []int32, n int) int {
	n = min(n, t.limit)
	known, _ := t.begin(history)
	if len(known) == 0 || n <= len(known) {
		return min(n, len(known))
	}
	rest := n - len(known)
	if p, ok := t.trained.(Peeker); ok {
		rest = p.Peek(history, rest)
	}
	return len(known) + max(rest, 0)
}

// Features implements Featured.
func (t *continued) Features(history []int32) Features {
	_, f := t.begin(history)
	return f
}

// Propose implements Draft.
func (t *continued) Propose(s *mlx.Scope, history []int32, n int) Proposal {
	n = min(n, t.limit)
	known, _ := t.begin(history)
	switch {
	case len(known) == 0:
		return Proposal{}
	case n <= len(known):
		return certain(s, known[:n])
	}
	tokens := slices.Concat(history, known)
	rest := t.trained.Propose(s, tokens, n-len(known))
	if rest.N == 0 {
		return certain(s, known)
	}
	k := len(known)
	p := Proposal{N: k + rest.N, Tokens: s.Concat(0, mlx.New(s, known, k), rest.Tokens)}
	p.Confidence = rest.Confidence
	if rest.LogQ != nil {
		if p.Confidence == nil {
			p.Confidence = Confidence(s, rest.LogQ)
		}
		p.LogQ = s.Concat(0, onePoint(s, known, rest.LogQ.Dim(1)), rest.LogQ)
	}
	return p
}

// onePoint returns distributions (n, V) that have all mass on the given tokens (n).
func onePoint(s *mlx.Scope, tokens []int32, vocab int) *mlx.Array {
	ids := s.Reshape(s.Arange(0, vocab, mlx.Int32), 1, vocab)
	hit := s.Equal(ids, mlx.New(s, tokens, len(tokens), 1))
	return s.Where(hit, s.Scalar(0, mlx.Float32), s.Scalar(math.Inf(-1), mlx.Float32))
}

// Arrays implements Draft.
func (t *continued) Arrays() []*mlx.Array { return t.trained.Arrays() }
