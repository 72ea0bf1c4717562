package restore

import (
	"context"
	"fmt"
	"slices"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// NativeBypass is the label of results that come from a target's own caches, by Prefill and Decode
// on a model that is not bounded. Nothing is restored there, so they say nothing about restoration.
const NativeBypass = "native bypass"

// Prefill evaluates one token or more on fresh caches, in chunks of chunk tokens. It returns the
// caches and the logits (V) of the last token. These are the same for any chunk that caches of opts
// take; 0 means the largest. The caller frees the caches.
func Prefill(ctx context.Context, t *mlx.Thread, m lm.Model, tokens []int32, chunk int,
	opts cache.Options) (caches cache.Stack, logits []float32, err error) {
	if len(tokens) == 0 {
		return nil, nil, fmt.Errorf("restore: no tokens to evaluate")
	}
	opts.Rows = max(opts.Rows, len(tokens))
	caches = m.NewCaches(opts)
	if limit := opts.MaxRows(); chunk <= 0 || chunk > limit {
		chunk = limit
	}
	for len(tokens) > 0 && err == nil {
		n := min(chunk, len(tokens))
		logits, err = evaluate(ctx, t, m, caches, tokens[:n])
		tokens = tokens[n:]
	}
	if err != nil {
		Release(t, caches)
		return nil, nil, err
	}
	return caches, logits, nil
}

// Decode continues what caches hold, greedily, by n tokens: first by the likeliest of logits (V),
// those of the last token. It stops after a token in stop. It returns the new tokens. All but the
// last of them are in the caches.
func Decode(ctx context.Context, t *mlx.Thread, m lm.Model, caches cache.Stack, logits []float32,
	n int, stop ...int32) (tokens []int32, err error) {
	for len(tokens) < n {
		next := likeliest(logits)
		tokens = append(tokens, next)
		if len(tokens) == n || slices.Contains(stop, next) {
			break
		}
		if logits, err = evaluate(ctx, t, m, caches, []int32{next}); err != nil {
			return tokens, err
		}
	}
	return tokens, nil
}

// evaluate appends tokens to the caches and returns the logits of the last one.
func evaluate(ctx context.Context, t *mlx.Thread, m lm.Model, caches cache.Stack,
	tokens []int32) (logits []float32, err error) {
	err = t.Do(ctx, func(s *mlx.Scope) error {
		n := len(tokens)
		out := m.Forward(s, lm.Batch{{Tokens: mlx.New(s, tokens, n), N: n,
			Pos: caches[0].Offset(), Caches: caches}}, nil)
		last := s.AsType(m.Unembed(s, s.Slice(out.Hidden, 0, n-1, n)), mlx.Float32)
		if err := s.Eval(append(caches.Arrays(), last)...); err != nil {
			return err
		}
		var err error
		logits, err = mlx.Read[float32](s, last)
		return err
	})
	return logits, err
}

// likeliest returns the token of the largest logit, the lowest of several.
func likeliest(logits []float32) int32 {
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	return int32(best)
}

// SetState writes keys and values (1, KV, n, D) straight into the rows of a cache, as they are
// attended: after norm and rotary embedding. They become its whole contents at the positions before
// to. A cache that keeps every row takes to of them. Others take what State returns. The caller
// evaluates the cache's arrays in this scope.
func SetState(s *mlx.Scope, c cache.Cache, kv lm.KV, to int) error {
	n := kv.K.Dim(2)
	p := cache.NewStored(to-n, to, rows(kv))
	defer p.Release()
	return c.Restore(s, []*cache.Snapshot{p}, to)
}

// State returns the keys and values that SetState would write to have what the cache has, and their
// position. They are copies.
func State(s *mlx.Scope, c cache.Cache) (kv lm.KV, to int, err error) {
	p, err := c.Snapshot(s, 0)
	if err != nil {
		return kv, 0, err
	}
	defer p.Release()
	k, v := p.Rows(s)
	if k == nil {
		return kv, 0, fmt.Errorf("restore: a cache of %d positions has no rows", p.To())
	}
	return lm.KV{K: s.Contiguous(k), V: s.Contiguous(v)}, p.To(), nil
}

// rows are a source of rows that are in memory.
type rows lm.KV

// Rows implements cache.Source.
func (r rows) Rows(*mlx.Scope) (k, v *mlx.Array) { return r.K, r.V }

// ResidentBytes returns what caches hold: the sum of the sizes of their live arrays.
func ResidentBytes(caches cache.Stack) int64 { return caches.Bytes() }

// Release frees caches on the thread.
func Release(t *mlx.Thread, caches cache.Stack) {
	// A thread that is closed has freed all there was.
	_ = t.Do(context.Background(), func(s *mlx.Scope) error { caches.Free(s); return nil })
}
