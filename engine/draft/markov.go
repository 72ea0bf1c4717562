package draft

import "tandem/engine/mlx"

// A MarkovBlock is a Block whose rows may be corrected, each by the token before it. Its proposal
// is a chain over all tokens, with one small product a row.
type MarkovBlock interface {
	Block

	// Markov reports whether rows are corrected here. Such a block has logits of all tokens.
	Markov() bool

	// Correction returns what is added to the logits of rows that come after the tokens previous
	// (n) int32: (n, V).
	Correction(s *mlx.Scope, previous *mlx.Array) *mlx.Array

	// Trust returns how likely the drafts of rows are right, (n) float32 from 0 to 1, if they come
	// after the tokens previous (n); nil if the block does not say. hidden (n, H) is what Forward
	// returned.
	Trust(s *mlx.Scope, hidden, previous *mlx.Array) *mlx.Array
}

// isMarkov returns b as a block of corrected rows, if it is one.
func isMarkov(b Block) (MarkovBlock, bool) {
	m, ok := b.(MarkovBlock)
	return m, ok && m.Markov()
}

// correct proposes from last through the rows of logits (n, V), which are not processed yet. Each row
// is corrected, processed and drawn from with the request's own noise. None is read.
func (p *proposer) correct(s *mlx.Scope, b MarkovBlock, hidden, logits *mlx.Array, last int32) Proposal {
	n := logits.Dim(0)
	tokens := []*mlx.Array{mlx.New(s, []int32{last}, 1)} // (1) each, from last on
	drafts := chain{sampler: p.sampler, pos: p.pos}
	for i, row := range s.Split(logits, n, 0) {
		row = s.Add(row, s.AsType(b.Correction(s, tokens[i]), mlx.Float32))
		tokens = append(tokens, drafts.draw(s, row))
	}
	proposal := drafts.proposal(s)
	if trust := b.Trust(s, hidden, s.Concat(0, tokens[:n]...)); trust != nil {
		proposal.Confidence = reach(s, s.Log(trust))
	}
	return proposal
}
