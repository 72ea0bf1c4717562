package nn

import "tandem/engine/mlx"

// An Embedding maps token ids to rows. If the head is tied to it, it also maps rows to logits.
type Embedding struct {
	rows matrix // weight (V, H), plain or packed
	head matrix // the same, laid out for products
}

// Embedding reads the module at path.
func (w *Weights) Embedding(path string, vocab, hidden int) *Embedding {
	e := &Embedding{rows: w.matrix(path, vocab, hidden)}
	e.head = e.rows
	arrays, views := e.head.layout(w.scope)
	if !e.rows.packed() {
		views = append(views, e.rows.weight)
	}
	w.keep(arrays, views...)
	return e
}

// Forward returns the rows (n, H) of ids (n).
func (e *Embedding) Forward(s *mlx.Scope, ids *mlx.Array) *mlx.Array {
	rows := s.Take(e.rows.weight, ids, 0)
	if !e.rows.packed() {
		return rows
	}
	scales, biases := s.Take(e.rows.scales, ids, 0), s.Take(e.rows.biases, ids, 0)
	return s.Dequantize(rows, scales, biases, e.rows.quantization, e.rows.scales.Dtype())
}

// Unembed returns the logits (rows, V) of hidden (rows, H).
func (e *Embedding) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	return e.head.matmul(s, hidden)
}

// Dtype returns the type of the rows.
func (e *Embedding) Dtype() mlx.Dtype {
	if e.rows.packed() {
		return e.rows.scales.Dtype()
	}
	return e.rows.weight.Dtype()
}
