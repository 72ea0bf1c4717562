package nn

import (
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// TestAttentionOfOneOperationHasTheBitsOfSeveral compares mlx.RotatedHeads with the operations that it replaces, which
// recorded sequences still use: for a prompt, for a step, and for both in a batch behind another sequence.
func TestAttentionOfOneOperationHasTheBitsOfSeveral(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	h := Heads{Q: 4, KV: 2, Dim: 32, Scale: 0.2}
	for name, change := range map[string]func(*mlx.Scope, *Weights, *Attention){
		"plain": func(*mlx.Scope, *Weights, *Attention) {},
		"rotated": func(s *mlx.Scope, w *Weights, a *Attention) {
			a.spec.Rope = w.Rope(16, 1e4, false, nil)
		},
		"normed": func(s *mlx.Scope, w *Weights, a *Attention) {
			a.QKNorm = &HeadNorm{weight: s.Normal(s.Key(2), mlx.Float32, 0, 1, h.Q+h.KV, 1, h.Dim), eps: 1e-6}
		},
	} {
		err := th.Do(t.Context(), func(s *mlx.Scope) error {
			w := NewWeights(s, noTensors{}, nil)
			defer w.Free()
			a := &Attention{spec: AttentionSpec{Heads: h}}
			change(s, w, a)
			qkv := s.Normal(s.Key(1), mlx.Float32, 0, 1, 9, (h.Q+2*h.KV)*h.Dim)
			attend := func(record bool) (bits []float32, kv lm.KV, err error) {
				c := cache.NewKV(0)
				defer c.Free(s)
				var outs []*mlx.Array
				for _, rows := range [][2]int{{0, 8}, {8, 9}} {
					q := lm.Sequence{N: rows[1] - rows[0], Pos: rows[0], Caches: []cache.Cache{c}}
					if record {
						q.Record = make([]lm.KV, 1)
					}
					own := s.Slice(qkv, 0, rows[0], rows[1])
					if _, one := a.headSplit(s, own, lm.Batch{q}); one == record {
						t.Errorf("%s, recorded %t: by one operation %t", name, record, one)
					}
					outs = append(outs, a.attend(s, own, lm.Batch{q}))
					if record {
						kv = q.Record[0]
					}
				}
				bits, err = mlx.Read[float32](s, s.Concat(0, outs...))
				return bits, kv, err
			}
			one, _, err := attend(false)
			if err != nil {
				return err
			}
			several, kv, err := attend(true)
			if err != nil {
				return err
			}
			if !slices.Equal(one, several) || kv.K == nil || kv.V == nil {
				t.Errorf("%s: other bits, or nothing is recorded", name)
			}
			b := lm.Batch{{Caches: []cache.Cache{cache.NewKV(0)}}, {Caches: []cache.Cache{cache.NewKV(0)}}}
			var outs []*mlx.Array
			for _, rows := range [][2][2]int{{{4, 9}, {0, 8}}, {{2, 4}, {8, 9}}} {
				var own []*mlx.Array
				for i, r := range rows {
					b[i].Pos, b[i].N = b[i].Pos+b[i].N, r[1]-r[0]
					own = append(own, s.Slice(qkv, 0, r[0], r[1]))
				}
				both := s.Concat(0, own...)
				if _, ok := a.headSplit(s, both, b); !ok {
					t.Errorf("%s: two sequences not by one operation", name)
				}
				outs = append(outs, s.Slice(a.attend(s, both, b), 0, b[0].N, b.Rows()))
			}
			shared, err := mlx.Read[float32](s, s.Concat(0, outs...))
			if err == nil && !slices.Equal(one, shared) {
				t.Errorf("%s: other bits after another sequence", name)
			}
			for _, q := range b {
				q.Caches[0].Free(s)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
