package nn

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// Heads says how projected rows divide into attention heads: Q query heads, then KV key heads, then
// KV value heads, of Dim elements each.
type Heads struct {
	Q, KV, Dim int
	Scale      float32    // of the scores
	Sinks      *mlx.Array // (Q) one more score of each head, which belongs to no value; or nil
	Growth     *Growth    // of the queries; or nil
	Unseen     int        // rows at the beginning of each cache that no query attends
}

// Split divides qkv (rows, (Q+2KV) D). It returns the heads of q and k together, (1, Q+KV, rows,
// D), because norm and rope treat them alike. It returns the heads of v apart, (1, KV, rows, D).
func (h Heads) Split(s *mlx.Scope, qkv *mlx.Array) (qk, v *mlx.Array) {
	heads := h.Q + 2*h.KV
	x := SplitHeads(s, qkv, heads, h.Dim)
	return s.Slice(x, 1, 0, h.Q+h.KV), s.Slice(x, 1, h.Q+h.KV, heads)
}

// SplitHeads divides x (rows, heads dim) into heads: (1, heads, rows, dim).
func SplitHeads(s *mlx.Scope, x *mlx.Array, heads, dim int) *mlx.Array {
	rows := x.Dim(0)
	if rows == 1 {
		return s.Reshape(x, 1, heads, 1, dim)
	}
	return s.Transpose(s.Reshape(x, 1, rows, heads, dim), 0, 2, 1, 3)
}

// splitGates takes the gates (rows, Q D) out of x (rows, (2Q+2KV) D), where one follows the query
// of each head.
func (h Heads) splitGates(s *mlx.Scope, x *mlx.Array) (qkv, gate *mlx.Array) {
	rows, width := x.Dim(0), h.Q*h.Dim
	heads := s.Reshape(s.Slice(x, 1, 0, 2*width), rows, h.Q, 2*h.Dim)
	part := func(from int) *mlx.Array {
		return s.Reshape(s.Slice(heads, 2, from, from+h.Dim), rows, width)
	}
	return s.Concat(1, part(0), s.Slice(x, 1, 2*width, x.Dim(1))), part(h.Dim)
}

// Attend rotates the heads of each sequence at its position, unless rope is nil. It appends k and v
// to its cache of the given layer. It returns what the queries attend to, (rows, Q D) for the whole
// batch.
func (h Heads) Attend(s *mlx.Scope, qk, v *mlx.Array, rope *Rope, b lm.Batch,
	layer int) *mlx.Array {
	return eachSequence(s, b, 0, func(q lm.Sequence, rows func(*mlx.Array) *mlx.Array) *mlx.Array {
		turned := rows(qk)
		if rope != nil {
			turned = rope.Forward(s, turned, q.Pos)
		}
		queries, k := s.Slice(turned, 1, 0, h.Q), s.Slice(turned, 1, h.Q, h.Q+h.KV)
		return h.attendRotated(s, queries, lm.KV{K: k, V: rows(v)}, q, layer)
	})
}

// attendRotated appends the rotated keys, and values (1, KV, n, D), of a sequence to its cache of a layer. It returns
// what its rotated queries (1, Q, n, D) attend to, (n, Q D).
func (h Heads) attendRotated(s *mlx.Scope, queries *mlx.Array, kv lm.KV, q lm.Sequence, layer int) *mlx.Array {
	if h.Growth != nil {
		queries = h.Growth.forward(s, queries, q.Pos)
	}
	if q.BoundedAt(layer) != nil {
		return h.attendBounded(s, queries, kv, q, layer)
	}
	view := q.Caches[layer].(cache.Attention).Update(s, kv.K, kv.V)
	return h.attend(s, queries, view, q)
}

// AttendShared is Attend for a layer without keys. The queries q (1, Q, rows, D) attend what
// another layer has appended to its cache in this forward.
func (h Heads) AttendShared(s *mlx.Scope, q *mlx.Array, rope *Rope, b lm.Batch,
	layer int) *mlx.Array {
	return eachSequence(s, b, 0, func(seq lm.Sequence, rows func(*mlx.Array) *mlx.Array) *mlx.Array {
		queries := rope.Forward(s, rows(q), seq.Pos)
		if r := seq.BoundedAt(layer); r != nil {
			return h.attendRuns(s, queries, seq, r)
		}
		view := seq.Caches[layer].(cache.Attention).View(s, seq.N)
		if s.Err() != nil {
			return queries
		}
		return h.attend(s, queries, view, seq)
	})
}

// AttendPast is AttendShared for one row that no cache has. It attends the rows of a cache that its
// next position sees. pos turns the query.
func (h Heads) AttendPast(s *mlx.Scope, q *mlx.Array, rope *Rope, pos int,
	c cache.Cache) *mlx.Array {
	view := c.(cache.Attention).View(s, 0)
	if s.Err() != nil {
		return q
	}
	return h.attend(s, rope.Forward(s, q, pos), view, lm.Sequence{N: 1, Pos: pos})
}

// eachSequence calls attend for each sequence and joins the results along an axis. rows takes the rows of the sequence
// out of heads (1, heads, rows, D).
func eachSequence(s *mlx.Scope, b lm.Batch, axis int,
	attend func(q lm.Sequence, rows func(*mlx.Array) *mlx.Array) *mlx.Array) *mlx.Array {
	if len(b) == 1 {
		return attend(b[0], func(x *mlx.Array) *mlx.Array { return x })
	}
	outs := make([]*mlx.Array, len(b))
	at := 0
	for i, q := range b {
		outs[i] = attend(q, func(x *mlx.Array) *mlx.Array { return s.Slice(x, 2, at, at+q.N) })
		at += q.N
	}
	return s.Concat(axis, outs...)
}

// joinHeads undoes [SplitHeads]: x (1, heads, rows, dim) becomes (rows, heads dim).
func joinHeads(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	heads, rows, dim := x.Dim(1), x.Dim(2), x.Dim(3)
	if rows > 1 {
		x = s.Transpose(x, 0, 2, 1, 3) // (1, rows, heads, dim)
	}
	return s.Reshape(x, rows, heads*dim)
}

// attend attends a view with the rotated queries (1, Q, n, D) of one sequence: (n, Q D).
func (h Heads) attend(s *mlx.Scope, queries *mlx.Array, view cache.View,
	q lm.Sequence) *mlx.Array {
	if h.Unseen > 0 {
		view = hideRows(s, view.Dequantize(s), h.Unseen)
	}
	if view.Quantized != nil {
		if out := h.attendQuantized(s, queries, view); out != nil {
			return out
		}
		view = view.Dequantize(s)
	}
	if q.Apart && !tiled(s, queries, view.V) {
		return h.attendByRow(s, queries, view, q.Pos)
	}
	if view.Causal {
		return h.causal(s, queries, view.K, view.V)
	}
	return h.ScaledDotProductAttention(s, queries, view.K, view.V, view.Mask)
}

// hideRows returns a view without its first n rows. It copies nothing.
func hideRows(s *mlx.Scope, view cache.View, n int) cache.View {
	if s.Err() != nil {
		return view
	}
	size := view.K.Dim(2)
	view.K, view.V = s.Slice(view.K, 2, n, size), s.Slice(view.V, 2, n, size)
	if view.Mask != nil {
		view.Mask = s.Slice(view.Mask, 1, n, size)
	}
	return view
}

// attendByRow attends q (1, Q, n, D), whose first row is at pos, row by row: (n, Q D). Each row sees the keys that
// it would see alone. So its result does not depend on the rows that come with it.
func (h Heads) attendByRow(s *mlx.Scope, q *mlx.Array, view cache.View, pos int) *mlx.Array {
	outs := make([]*mlx.Array, q.Dim(2))
	for i := range outs {
		keys := min(pos+i+1, view.K.Dim(2))
		mask := view.Mask
		if mask != nil {
			mask = s.Slice(s.Slice(mask, 0, i, i+1), 1, 0, keys)
		}
		outs[i] = h.ScaledDotProductAttention(s, s.Slice(q, 2, i, i+1),
			s.Slice(view.K, 2, 0, keys), s.Slice(view.V, 2, 0, keys), mask)
	}
	return s.Concat(0, outs...)
}

// causalRows is how many queries of a prompt the CPU attends at a time in MLX's operations. These
// compute the scores of all of them against every key, including the half in the future. Blocks
// leave out most of that half (measured in engine/log/2026-11-21.md).
const causalRows = 64

// causal attends q (1, Q, n, D), the last n positions of k and v (1, KV, T, D): (n, Q D).
func (h Heads) causal(s *mlx.Scope, q, k, v *mlx.Array) *mlx.Array {
	n, past := q.Dim(2), k.Dim(2)-q.Dim(2)
	if s.Thread().GPU() || n <= causalRows || tiled(s, q, v) {
		return h.CausalAttention(s, q, k, v)
	}
	var outs []*mlx.Array
	for from := 0; from < n; from += causalRows {
		to := min(from+causalRows, n)
		outs = append(outs, h.CausalAttention(s, s.Slice(q, 2, from, to),
			s.Slice(k, 2, 0, past+to), s.Slice(v, 2, 0, past+to)))
	}
	return s.Concat(0, outs...)
}
