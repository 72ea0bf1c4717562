package nn

import "tandem/engine/mlx"

// Reordered reads the module at path, whose outputs are wanted in another order: rows has the place
// of each in the checkpoint. It has no bias.
func (w *Weights) Reordered(path string, in int, rows []int32) *Linear {
	m := w.matrix(path, len(rows), in)
	m.reorder(w.scope, rows)
	arrays, views := m.layout(w.scope)
	w.keep(arrays, views...)
	l := &Linear{parts: []matrix{m}}
	w.parts.linears = append(w.parts.linears, product{l, in})
	return l
}

// reorder takes the rows of m, as the checkpoint has it, in another order. A packed row stands by
// itself.
func (m *matrix) reorder(s *mlx.Scope, rows []int32) {
	index := mlx.New(s, rows, len(rows))
	for _, part := range []**mlx.Array{&m.weight, &m.scales, &m.biases} {
		if *part != nil {
			*part = s.Take(*part, index, 0)
		}
	}
}
