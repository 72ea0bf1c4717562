package engine

import (
	"fmt"

	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// forwardBlock evaluates the task's n tokens from t.fed on and returns the outputs, with
// taps of layers. The caches then hold the tokens. The outputs of an exact request have
// ExactRows rows; its caches hold none of the padding.
func (r *runner) forwardBlock(s *mlx.Scope, t *task, tokens *mlx.Array, n int,
	layers []int) lm.Output {
	q := lm.Sequence{Tokens: tokens, N: n, Pos: t.fed, Caches: t.caches}
	if t.req.Speculation.Exact {
		q.N, q.Pad, q.Apart = ExactRows, ExactRows-n, true
	}
	if q.Pad > 0 {
		q.Tokens = s.Concat(0, tokens, s.Zeros(mlx.Int32, q.Pad))
	}
	t.checkOffsets(s, t.fed)
	out := r.model.Forward(s, lm.Batch{q}, layers)
	if s.Err() == nil {
		if err := t.trim(q.Pad); err != nil {
			s.Fail(fmt.Errorf("dropping padding: %w", err))
		}
	}
	return out
}

// logits returns the logits (to-from, V) of rows [from, to) of a block's hidden states. An
// exact request computes those of all rows.
func (r *runner) logits(s *mlx.Scope, t *task, hidden *mlx.Array, from, to int) *mlx.Array {
	if t.req.Speculation.Exact {
		return rows(s, r.model.Unembed(s, hidden), from, to)
	}
	return r.model.Unembed(s, rows(s, hidden, from, to))
}
