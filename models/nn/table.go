package nn

import "tandem/engine/mlx"

// A Table maps ids to rows and is read by row alone, so that a quantized one stays quantized everywhere.
type Table struct {
	rows  matrix // (V, D), plain, quantized or packed
	dtype mlx.Dtype
}

// Table reads the table at path, whose weight may be quantized as a module's.
func (w *Weights) Table(path string, vocab, dim int) *Table {
	t := &Table{rows: w.matrix(path, vocab, dim)}
	t.dtype = t.rows.dtype(w.Dtype)
	if t.rows.packs {
		w.keep(t.rows.layout(w.scope))
	} else {
		w.keep(t.rows.arrays())
	}
	return t
}

// Rows returns the rows (n, D) of ids (n).
func (t *Table) Rows(s *mlx.Scope, ids *mlx.Array) *mlx.Array { return t.rows.rows(s, ids, t.dtype) }
