package nn

import (
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// Parts are what takes most of the time of a forward, to be timed one by one: the linear layers,
// and the mixers without their projections. Excluded are activations, residuals, embeddings, the
// head, and norms other than a mixer's own.
//
// Inputs and results mean nothing. Shapes, weights and caches are the model's own. Each layer waits
// for the one before, as in a forward.
type Parts struct {
	linears []product
	mixers  []Mixer
}

// AddMixer adds a mixer to the [Parts] of the model.
func (w *Weights) AddMixer(m Mixer) { w.parts.mixers = append(w.parts.mixers, m) }

// headPath is what all checkpoints call a head that is not tied to the embedding.
const headPath = "lm_head"

// A product is a linear layer with the width of its input.
type product struct {
	linear *Linear
	in     int
}

// Parts returns the layers that were read so far.
func (w *Weights) Parts() Parts { return w.parts }

// Linears evaluates every linear layer but the head on n rows of the type d. Its result (1, 1)
// depends on all of them.
func (p Parts) Linears(s *mlx.Scope, n int, d mlx.Dtype) *mlx.Array {
	last := s.Zeros(d, 1, 1)
	for _, l := range p.linears {
		last = corner(s, l.linear.Forward(s, Broadcast(s, last, n, l.in)))
	}
	return last
}

// Attention runs the mixer of every layer on a batch, which needs no tokens. It appends to the
// batch's caches. They are to be evaluated together with the result (1, 1).
func (p Parts) Attention(s *mlx.Scope, b lm.Batch, d mlx.Dtype) *mlx.Array {
	last := s.Zeros(d, 1, 1)
	for _, t := range p.mixers {
		last = corner(s, t.Mix(s, last, b))
	}
	return last
}

// Broadcast returns (n, width) copies of x (1, 1).
func Broadcast(s *mlx.Scope, x *mlx.Array, n, width int) *mlx.Array {
	return s.Contiguous(s.BroadcastTo(x, n, width))
}

// corner returns the first element (1, 1) of x (rows, out).
func corner(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	return s.Slice(s.Slice(x, 0, 0, 1), 1, 0, 1)
}
