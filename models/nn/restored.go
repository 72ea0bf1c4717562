package nn

import (
	"fmt"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A Recordable is a [Mixer] whose keys and values can be recorded and restored.
type Recordable interface {
	// KVShape returns the number of the cache that the layer attends, and what its rows look like.
	KVShape() (cache int, shape lm.KVShape)
}

// Restore is where an attention layer puts its keys and values on record and takes in restored ones,
// before [Heads.Attend]. qk (1, Q+KV, rows, D) and v (1, KV, rows, D) come from its projections.
// norm applies the layer's norms. Where nothing is recorded or restored it does nothing.
func (h Heads) Restore(s *mlx.Scope, qk, v *mlx.Array, rope *Rope, b lm.Batch, layer int,
	norm func(lm.KV) lm.KV) {
	at := 0
	for _, q := range b {
		if q.Record != nil {
			k := s.Slice(qk, 1, h.Q, h.Q+h.KV)
			q.Record[layer] = lm.KV{K: s.Slice(k, 2, at, at+q.N), V: s.Slice(v, 2, at, at+q.N)}
		}
		at += q.N
		r := q.BoundedAt(layer)
		if r == nil || r.Bank == nil || s.Err() != nil {
			continue
		}
		kv := norm(r.KV)
		if rope != nil {
			kv.K = rope.Forward(s, kv.K, q.Pos)
		}
		r.Bank.Update(s, kv.K, kv.V)
		r.Restored += q.N
	}
}

// attendBounded appends own rows (1, KV, n, D) of a sequence to the cache of a bounded layer, piece
// by piece, and attends them and its bank with the rotated queries (1, Q, n, D).
func (h Heads) attendBounded(s *mlx.Scope, queries *mlx.Array, kv lm.KV, q lm.Sequence,
	layer int) *mlx.Array {
	own, ok := q.Caches[layer].(*cache.SinkWindow)
	if !ok {
		s.Fail(fmt.Errorf("nn: cache %d of a bounded layer is a %T", layer, q.Caches[layer]))
	}
	r := q.Bounded[layer]
	return h.pieces(s, queries, q, r, func(from, to int) cache.View {
		view := own.Update(s, s.Slice(kv.K, 2, from, to), s.Slice(kv.V, 2, from, to))
		r.Own = append(r.Own, view)
		return view
	})
}

// attendOwners attends what the layer that owns the keys showed of its own rows, and its bank.
func (h Heads) attendOwners(s *mlx.Scope, queries *mlx.Array, q lm.Sequence,
	r *lm.Bounded) *mlx.Array {
	next := 0
	return h.pieces(s, queries, q, r, func(int, int) cache.View {
		if next == len(r.Own) {
			s.Fail(fmt.Errorf("nn: a layer attends keys that no layer before it has appended"))
			return cache.View{}
		}
		next++
		return r.Own[next-1]
	})
}

// pieces attends queries (1, Q, n, D) in pieces of as many rows as a bounded layer takes at once.
// own returns the view of own rows for the queries [from, to).
func (h Heads) pieces(s *mlx.Scope, queries *mlx.Array, q lm.Sequence, r *lm.Bounded,
	own func(from, to int) cache.View) *mlx.Array {
	step := cache.MaxBlock
	if q.Apart && !tiled(s, queries, queries) {
		step = 1
	}
	var outs []*mlx.Array
	for from := 0; from < q.N; from += step {
		to := min(from+step, q.N)
		if s.Err() != nil {
			return queries
		}
		view := own(from, to)
		if r.Bank != nil {
			restored := r.Bank.Restored(s, q.Pos+from, q.Pos+to)
			if view = view.Join(s, restored); restored.K != nil {
				r.Attended += min(to-from, q.Pos+to-r.Bank.First())
			}
		}
		if s.Err() != nil {
			return queries
		}
		outs = append(outs, h.ScaledDotProductAttention(s, s.Slice(queries, 2, from, to), view.K,
			view.V, view.Mask))
	}
	return s.Concat(2, outs...)
}
