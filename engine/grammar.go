package engine

import (
	"slices"

	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// allowed returns which tokens may follow the text, (1, V) bool; nil if all may.
func (t *task) allowed(s *mlx.Scope, vocab int) (*mlx.Array, error) {
	if t.req.Grammar == nil {
		return nil, nil
	}
	bits, err := walk(t.req.Grammar, nil, 0)
	if err != nil {
		return nil, err
	}
	return unpackMasks(s, bits, 1, vocab), nil
}

// allowedTokens returns which tokens may follow the newest one and each draft, (n+1, V) bool; nil
// if all may. It dispatches the target's forward first, so that masks are made while the device
// computes. It waits for the draft only. logits are the target's.
func (b *block) allowedTokens(s *mlx.Scope, p draft.Proposal, logits *mlx.Array,
	taps []*mlx.Array) (*mlx.Array, error) {
	t := b.task
	if t.req.Grammar == nil {
		return nil, nil
	}
	keep := slices.Concat([]*mlx.Array{logits}, taps, t.sampler.Arrays(), t.sampler.Held(),
		t.liveArrays())
	var drafts []int32
	if b.n > 0 {
		keep = append(keep, p.Tokens)
		if p.LogQ != nil && t.req.Speculation.Rule == Rejection { // else it is gone
			keep = append(keep, p.LogQ)
		}
		if p.Confidence != nil {
			keep = append(keep, p.Confidence)
		}
	}
	if err := s.AsyncEval(keep...); err != nil {
		return nil, err
	}
	if b.n > 0 {
		var err error
		if drafts, err = mlx.Read[int32](s, p.Tokens); err != nil {
			return nil, err
		}
	}
	bits, err := walk(t.req.Grammar, drafts, 0)
	if err != nil {
		return nil, err
	}
	return unpackMasks(s, bits, b.n+1, logits.Dim(1)), nil
}

// drawMasked has tasks under a grammar draw from logits that the device computes meanwhile. read
// has the tokens that their grammars have not seen yet. It returns the errors of tasks that
// cannot go on.
func (r *runner) drawMasked(s *mlx.Scope, tasks []*task, next []*draw,
	read map[*task]Token) map[*task]error {
	failed := map[*task]error{}
	for i, t := range tasks {
		if t.req.Grammar == nil {
			continue
		}
		if err := s.Try(func() error {
			allowed, err := r.allowedAfter(s, t, read)
			if err != nil {
				return err
			}
			d := t.draw(s, next[i].logits, allowed, next[i].pos)
			d.layers, d.taps = next[i].layers, next[i].taps
			next[i] = d
			return s.Err()
		}); err != nil {
			failed[t] = roundError(r.log, err)
		}
	}
	return failed
}

// allowedAfter returns which tokens may follow the text and the token that was read, (1, V) bool;
// or nil if that token ends the text or is invalid.
func (r *runner) allowedAfter(s *mlx.Scope, t *task, read map[*task]Token) (*mlx.Array, error) {
	tok, ok := read[t]
	if !ok {
		return t.allowed(s, r.vocab)
	}
	if slices.Contains(t.eos, tok.ID) || tok.isInvalid() {
		return nil, nil
	}
	bits, err := walk(t.req.Grammar, []int32{tok.ID}, 1)
	if err != nil {
		return nil, err
	}
	return unpackMasks(s, bits, 1, r.vocab), nil
}

// advanceGrammar advances the request's grammar by an emitted token, and reports whether the text is
// complete with it.
func (t *task) advanceGrammar(id int32) (complete bool, err error) {
	g := t.req.Grammar
	if g == nil {
		return false, nil
	}
	if err := g.Accept(id); err != nil {
		return false, grammarError(err)
	}
	return g.Stopped(), nil
}
