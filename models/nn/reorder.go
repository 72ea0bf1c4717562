package nn

import "tandem/engine/mlx"

// Reordered reads the module at path and reorders its outputs: rows has the place of each in the
// checkpoint. It has no bias.
func (w *Weights) Reordered(path string, in int, rows []int32) *Linear {
	m := w.matrix(path, len(rows), in)
	m.reorder(w.scope, rows)
	w.keep(m.layout(w.scope))
	l := &Linear{parts: []matrix{m}}
	w.parts.linears = append(w.parts.linears, product{l, in})
	return l
}

// reorder puts the rows of m, as the checkpoint has it, into another order. A quantized row does not
// depend on others.
func (m *matrix) reorder(s *mlx.Scope, rows []int32) {
	index := mlx.New(s, rows, len(rows))
	for _, part := range []**mlx.Array{&m.weight, &m.scales, &m.biases, &m.global} {
		if *part != nil {
			*part = s.Take(*part, index, 0)
		}
	}
}

// evenFirst returns a stack of matrices with the even outputs of each before the odd ones.
func (m matrix) evenFirst(s *mlx.Scope) matrix {
	m.weight = evenFirst(s, m.weight)
	m.scales = evenFirst(s, m.scales)
	m.biases = evenFirst(s, m.biases)
	m.global = evenFirst(s, m.global)
	return m
}

// evenFirst puts the even entries of the second axis of a (E, n, ...) before the odd ones. It
// returns nil for nil.
func evenFirst(s *mlx.Scope, a *mlx.Array) *mlx.Array {
	if a == nil {
		return nil
	}
	pairs := s.Reshape(a, a.Dim(0), a.Dim(1)/2, 2, -1)
	return s.Reshape(s.Transpose(pairs, 0, 2, 1, 3), a.Shape()...)
}
