package nn

import "tandem/engine/mlx"

// An Embedding maps token ids to rows. If the head is tied to it, it also maps rows to logits.
type Embedding struct {
	rows matrix // weight (V, H), plain or quantized
	head matrix // the same, laid out for products

	dtype mlx.Dtype // of rows
}

// Embedding reads the module at path.
func (w *Weights) Embedding(path string, vocab, hidden int) *Embedding {
	e := &Embedding{rows: w.matrix(path, vocab, hidden)}
	e.dtype = e.rows.dtype(w.Dtype)
	e.head = e.rows
	arrays := e.head.layout(w.scope)
	var views []*mlx.Array
	if e.head.packed != nil {
		e.rows = e.head
	} else if !e.rows.quantized() {
		views = append(views, e.rows.weight)
	}
	w.keep(arrays, views...)
	return e
}

// Forward returns the rows (n, H) of ids (n).
func (e *Embedding) Forward(s *mlx.Scope, ids *mlx.Array) *mlx.Array {
	return e.rows.rows(s, ids, e.dtype)
}

// Unembed returns the logits (rows, V) of hidden (rows, H).
func (e *Embedding) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	return e.head.matmul(s, hidden)
}

// Dtype returns the type of the rows.
func (e *Embedding) Dtype() mlx.Dtype { return e.dtype }
