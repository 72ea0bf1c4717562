package dflash

import (
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// A selector scores a candidate of a row by the token before it: the more the row's hidden state
// says that the two belong together, the higher.
type selector struct {
	Predecessors *nn.Table  // (V, rank)
	Successors   *nn.Table  // (V, rank)
	Hidden       *nn.Linear // H to rank
}

// newSelector reads the candidate selector.
func newSelector(w *nn.Weights, a *args) *selector {
	const path = "candidate_selector"
	rank := a.DFlashConfig.SelectorRank
	return &selector{
		Predecessors: w.Table(path+".predecessor_codebook", a.VocabSize, rank),
		Successors:   w.Table(path+".successor_codebook", a.VocabSize, rank),
		Hidden:       w.Linear(path+".hidden_projection", a.HiddenSize, rank, false),
	}
}

// edges returns the scores (n, P, K) of candidates (n, K) after predecessors (n, P), for rows of
// hidden (n, H), in float32.
func (c *selector) edges(s *mlx.Scope, hidden, predecessors, candidates *mlx.Array) *mlx.Array {
	n, p, k := candidates.Dim(0), predecessors.Dim(1), candidates.Dim(1)
	h := c.Hidden.Forward(s, hidden)
	rank := h.Dim(1)
	before := s.Reshape(c.Predecessors.Rows(s, s.Reshape(predecessors, n*p)), n, p, rank)
	after := s.Reshape(c.Successors.Rows(s, s.Reshape(candidates, n*k)), n, k, rank)
	before = s.Mul(before, s.Reshape(h, n, 1, rank))
	return s.AsType(s.MatMul(before, s.Transpose(after, 0, 2, 1)), mlx.Float32)
}
