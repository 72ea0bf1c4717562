package restore

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A Source computes the keys and values that bounded layers attend in place of evicted ones. It reads
// the same tokens as the target, and keeps its own caches for each sequence. It is used on the MLX thread only.
type Source interface {
	// KVShapes returns the shapes of the rows that it computes, by cache of the target. It is the zero
	// value for a cache that it has no rows for.
	KVShapes() []lm.KVShape

	// NewCaches returns the source's own caches for one sequence, empty.
	NewCaches(opts cache.Options) []cache.Cache

	// KeysValues evaluates a batch on its caches. It returns keys and values (1, KV, rows, D) for the
	// rows of the whole batch, by cache of the target as in KVShapes.
	KeysValues(s *mlx.Scope, b lm.Batch) []lm.KV
}

// A Stack is the layers of a drafter, run as a decoder without its head. [FTheta] projects what it
// returns.
type Stack interface {
	NewCaches(opts cache.Options) []cache.Cache

	// KeysValues evaluates a batch on its caches and returns the keys and the values of all layers,
	// (rows, layers KV D).
	KeysValues(s *mlx.Scope, b lm.Batch) (k, v *mlx.Array)
}

// A Projection maps what a [Stack] returns to the target's keys and values, by cache of the target.
type Projection interface {
	KVShapes() []lm.KVShape
	Forward(s *mlx.Scope, k, v *mlx.Array) []lm.KV
}

// FTheta returns a source that projects the keys and values of a drafter's layers.
func FTheta(stack Stack, p Projection) Source { return projected{stack, p} }

type projected struct {
	Stack
	projection Projection
}

func (p projected) KVShapes() []lm.KVShape { return p.projection.KVShapes() }

func (p projected) KeysValues(s *mlx.Scope, b lm.Batch) []lm.KV {
	k, v := p.Stack.KeysValues(s, b)
	return p.projection.Forward(s, k, v)
}

// Identity returns a source of the target's own keys and values. It records them in a separate forward,
// with caches that keep every row. So the restored model computes what the target does, if the
// machinery is right. It saves no memory.
func Identity(target lm.Model) Source { return identity{target} }

type identity struct{ target lm.Model }

func (i identity) KVShapes() []lm.KVShape { return shapes(i.target) }

func (i identity) NewCaches(opts cache.Options) []cache.Cache { return i.target.NewCaches(opts) }

func (i identity) KeysValues(s *mlx.Scope, b lm.Batch) []lm.KV {
	n := len(b[0].Caches)
	recording := make(lm.Batch, len(b))
	for j, q := range b {
		q.Record = make([]lm.KV, n)
		recording[j] = q
	}
	// No pauses: what is recorded has to outlive its layer.
	s.WithPause(nil, func() error { i.target.Forward(s, recording, nil); return nil })
	out := make([]lm.KV, n)
	for c, shape := range i.KVShapes() {
		if shape == (lm.KVShape{}) || s.Err() != nil {
			continue
		}
		var ks, vs []*mlx.Array
		for _, q := range recording {
			ks, vs = append(ks, q.Record[c].K), append(vs, q.Record[c].V)
		}
		out[c] = lm.KV{K: s.Concat(2, ks...), V: s.Concat(2, vs...)}
	}
	return out
}

// shapes returns what the target's caches hold, as far as it can be restored.
func shapes(target lm.Model) []lm.KVShape {
	if r, ok := target.(lm.Restorable); ok {
		return r.KVShapes()
	}
	return nil
}
