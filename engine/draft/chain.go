package draft

import (
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// chained is embedded by drafters that draft one token after the other from the target's hidden
// states. Requests call each of them mtp; a target has one at most.
type chained struct{ target lm.Model }

// Name implements Drafter.
func (chained) Name() string { return "mtp" }

// Taps implements Drafter: it reads the target's hidden states.
func (d chained) Taps() []int { return []int{d.target.Config().Layers} }

// MaxDrafts implements Drafter.
func (chained) MaxDrafts() int { return MaxDepth }

// Continues reports that its drafts can follow other drafts, see CanContinue.
func (chained) Continues() bool { return true }

// A chain is a proposal that grows by one token at a time. All is lazy.
type chain struct {
	sampler      *sample.Sampler // the request's own
	pos          int             // of the first draft
	tokens, logQ []*mlx.Array    // (1) and (1, V) for each draft
}

// draw returns the next draft, (1) int32. It is drawn from logits (1, V) float32 with the request's
// own noise at its position.
func (c *chain) draw(s *mlx.Scope, logits *mlx.Array) *mlx.Array {
	q := c.sampler.Process(s, logits, nil, nil)
	next := c.sampler.Choose(s, q, c.pos+len(c.tokens))
	c.tokens, c.logQ = append(c.tokens, next), append(c.logQ, q)
	return next
}

// proposal returns the drafts so far, at least one.
func (c *chain) proposal(s *mlx.Scope) Proposal {
	return Proposal{N: len(c.tokens), Tokens: s.Concat(0, c.tokens...), LogQ: s.Concat(0, c.logQ...)}
}
