package nn

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// Recur adds the rows of inputs (rows, ...) to each sequence's state of a recurrent layer. It
// returns what the layer's cache.Recurrence gives for them, (rows, ...).
func Recur(s *mlx.Scope, b lm.Batch, layer int, inputs ...*mlx.Array) *mlx.Array {
	outs := make([]*mlx.Array, len(b))
	at := 0
	for i, q := range b {
		rows := make([]*mlx.Array, len(inputs))
		for j, x := range inputs {
			rows[j] = s.Slice(x, 0, at, at+q.N)
		}
		outs[i] = q.Caches[layer].(*cache.Recurrent).Update(s, q.Pad, rows[0], rows[1:]...)
		at += q.N
	}
	return s.Concat(0, outs...)
}
