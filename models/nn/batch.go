package nn

import (
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// Tokens joins the token ids of the batch's sequences (rows).
func Tokens(s *mlx.Scope, b lm.Batch) *mlx.Array {
	if len(b) == 1 {
		return b[0].Tokens
	}
	tokens := make([]*mlx.Array, len(b))
	for i, q := range b {
		tokens[i] = q.Tokens
	}
	return s.Concat(0, tokens...)
}

// Taps collects the outputs of the layers that were asked for.
type Taps struct {
	layers  []int
	Outputs []*mlx.Array // in the order of layers
}

// NewTaps prepares for the given layers, in any order.
func NewTaps(layers []int) *Taps {
	return &Taps{layers, make([]*mlx.Array, len(layers))}
}

// Add hands over the output of one layer.
func (t *Taps) Add(layer int, x *mlx.Array) {
	for i, l := range t.layers {
		if l == layer {
			t.Outputs[i] = x
		}
	}
}
