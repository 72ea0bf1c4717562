package nn

import (
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// Parts are what most of a forward's time goes into, to be timed by themselves: the linear layers,
// and attention without its projections, or what a layer has in its place. Norms, activations,
// residuals and embeddings are not among them, nor is the head.
//
// The numbers that go in mean nothing, and so do those that come out; shapes, weights and caches
// are the model's own. Each layer waits for the one before, as in a forward.
type Parts struct {
	linears []product
	mixers  []Mixer
}

// AddMixer adds a mixer to the parts of the model.
func (w *Weights) AddMixer(m Mixer) { w.parts.mixers = append(w.parts.mixers, m) }

// headPath is what all models call the head that is not tied to the embedding.
const headPath = "lm_head"

// A product is a linear layer and what it takes.
type product struct {
	linear *Linear
	in     int
}

// Parts returns what was asked for so far.
func (w *Weights) Parts() Parts { return w.parts }

// Linears evaluates every linear layer but the head on n rows of the type d. Its result (1, 1)
// depends on all of them.
func (p Parts) Linears(s *mlx.Scope, n int, d mlx.Dtype) *mlx.Array {
	last := s.Zeros(d, 1, 1)
	for _, l := range p.linears {
		last = corner(s, l.linear.Forward(s, fill(s, last, n, l.in)))
	}
	return last
}

// Attention rotates and attends the heads of a batch in every layer, and appends to its caches,
// which are to be evaluated with the result (1, 1). The batch needs no tokens.
func (p Parts) Attention(s *mlx.Scope, b lm.Batch, d mlx.Dtype) *mlx.Array {
	last := s.Zeros(d, 1, 1)
	for _, t := range p.mixers {
		last = corner(s, t.Mix(s, last, b))
	}
	return last
}

// fill returns (n, width) copies of x (1, 1).
func fill(s *mlx.Scope, x *mlx.Array, n, width int) *mlx.Array {
	return s.Contiguous(s.BroadcastTo(x, n, width))
}

// corner returns the first element (1, 1) of x (rows, out).
func corner(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	return s.Slice(s.Slice(x, 0, 0, 1), 1, 0, 1)
}
