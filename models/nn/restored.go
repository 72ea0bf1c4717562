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

// Restore records the keys and values of an attention layer and adds restored ones, before
// [Heads.Attend]. qk (1, Q+KV, rows, D) and v (1, KV, rows, D) come from its projections. norm
// applies the layer's norms. Where nothing is recorded or restored it does nothing.
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
		// In the types of own rows, so that both are in one buffer.
		kv := norm(lm.KV{K: s.AsType(r.K, qk.Dtype()), V: s.AsType(r.V, v.Dtype())})
		if rope != nil {
			kv.K = rope.Forward(s, kv.K, q.Pos)
		}
		r.Bank.Append(s, kv.K, kv.V)
		r.Restored += q.N
	}
}

// attendBounded appends own rows (1, KV, n, D) of a sequence to the cache of a bounded layer. It attends
// them and the bank with the rotated queries (1, Q, n, D).
func (h Heads) attendBounded(s *mlx.Scope, queries *mlx.Array, kv lm.KV, q lm.Sequence,
	layer int) *mlx.Array {
	own, ok := q.Caches[layer].(*cache.SinkWindow)
	if !ok {
		s.Fail(fmt.Errorf("nn: cache %d of a bounded layer is a %T", layer, q.Caches[layer]))
		return queries
	}
	r := q.Bounded[layer]
	limit := q.N
	if q.Apart {
		limit = cache.MaxBlock // as few as a step has, so that keys have the places that they have in a step
	}
	d := cache.Divided{Window: own, Bank: r.Bank, Ordered: !q.Apart && s.Thread().GPU()}
	r.Runs = d.Update(s, kv.K, kv.V, limit)
	return h.attendRuns(s, queries, q, r)
}

// attendRuns attends what a bounded layer shows. The queries are its own, or from a layer that
// shares its keys.
func (h Heads) attendRuns(s *mlx.Scope, queries *mlx.Array, q lm.Sequence,
	r *lm.Bounded) *mlx.Array {
	if len(r.Runs) == 0 {
		s.Fail(fmt.Errorf("nn: a layer attends keys that no layer before it has appended"))
	}
	if s.Err() != nil {
		return queries
	}
	block := q.N // queries at a time
	switch whole := tiled(s, queries, r.Runs[0].V); {
	case q.Apart && !whole:
		block = 1
	case !s.Thread().GPU() && !whole:
		block = causalRows
	}
	var outs []*mlx.Array
	for _, run := range r.Runs {
		for from := run.From; from < run.To; from += block {
			to := min(from+block, run.To)
			view := run.Cut(s, from, to)
			outs = append(outs, h.ScaledDotProductAttention(s, s.Slice(queries, 2, from, to), view.K,
				view.V, view.Mask))
		}
		if r.Bank != nil {
			r.Attended += max(0, min(run.To-run.From, q.Pos+run.To-r.Bank.First()))
		}
	}
	return s.Concat(0, outs...)
}
