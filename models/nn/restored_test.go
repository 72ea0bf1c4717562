package nn_test

import (
	"fmt"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// TestRunsOfAnyLengthGiveTheSameBits attends a text by runs of several lengths, within a block of
// own rows and beyond one. Some banks keep every row, and one is a ring.
func TestRunsOfAnyLengthGiveTheSameBits(t *testing.T) {
	th := enginetest.NewThread(t)
	h := nn.Heads{Q: 4, KV: 2, Dim: 16, Scale: 0.25}
	const rows, chunk = 600, cache.MaxChunk
	for _, b := range []cache.Bounds{{Sink: 4, Window: 64}, {Sink: 0, Window: 3},
		{Sink: 4, Window: 300}, {Sink: 4, Window: 20, Reach: 90}} {
		var want []float32
		for _, most := range []int{1, 7, cache.MaxBlock, 100, chunk} {
			for _, apart := range []bool{false, true} {
				got := attendText(t, th, h, b, cache.Options{Chunk: chunk}, rows, most, apart)
				if want == nil {
					want = got
				} else if !slices.Equal(got, want) {
					t.Errorf("%+v: runs of %d rows, apart %v, give other bits than single rows", b, most, apart)
				}
			}
		}
	}
}

// TestRowsApartGiveTheSameBits attends a text by single rows and by blocks where what a row gets
// depends on the number of keys, as on a GPU.
func TestRowsApartGiveTheSameBits(t *testing.T) {
	th := enginetest.NewBLASThread(t)
	h := nn.Heads{Q: 4, KV: 2, Dim: 24, Scale: 0.25} // no multiple of 16: not attended by tiles
	const rows, chunk = 200, 128
	for _, b := range []cache.Bounds{{Sink: 4, Window: 64}, {Sink: 4, Window: 20, Reach: 90}} {
		var want []float32
		for _, most := range []int{1, 8, 7, cache.MaxBlock} {
			got := attendText(t, th, h, b, cache.Options{Chunk: chunk}, rows, most, true)
			if want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%+v: blocks of %d rows give other bits than single rows", b, most)
			}
		}
	}
}

// TestRestoredRowsGetTheTypesOfOwnRows attends own values in float32 and restored ones in bfloat16, in a
// step and in a chunk. A checkpoint whose norms are float32 has such ones.
func TestRestoredRowsGetTheTypesOfOwnRows(t *testing.T) {
	th := enginetest.NewThread(t)
	h := nn.Heads{Q: 4, KV: 2, Dim: 16, Scale: 0.25}
	b := cache.Bounds{Sink: 1, Window: 3}
	bank := cache.NewBank(cache.Options{}, b)
	q := lm.Sequence{Caches: []cache.Cache{cache.NewSinkWindow(b), bank}}
	for _, n := range []int{40, 1, 8} {
		q.N = n
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			restored := s.Zeros(mlx.BFloat16, 1, h.KV, n, h.Dim)
			q.Bounded = []*lm.Bounded{{KV: lm.KV{K: restored, V: restored}, Bank: bank}}
			qk := s.Zeros(mlx.BFloat16, 1, h.Q+h.KV, n, h.Dim)
			v := s.Zeros(mlx.Float32, 1, h.KV, n, h.Dim)
			h.Restore(s, qk, v, nil, lm.Batch{q}, 0, func(kv lm.KV) lm.KV { return kv })
			out := h.Attend(s, qk, v, nil, lm.Batch{q}, 0)
			return s.Eval(append(cache.Stack(q.Caches).Arrays(), out)...)
		})
		q.Pos += n
	}
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		defer cache.Stack(q.Caches).Free(s)
		for _, c := range q.Caches {
			a := c.Arrays()
			if a[0].Dtype() != mlx.BFloat16 || a[1].Dtype() != mlx.Float32 {
				t.Errorf("%T holds keys in %v and values in %v", c, a[0].Dtype(), a[1].Dtype())
			}
		}
		return nil
	})
}

// attendText returns what the queries of a text attend, in runs of at most most rows.
func attendText(t *testing.T, th *mlx.Thread, h nn.Heads, b cache.Bounds, opts cache.Options, rows,
	most int, apart bool) (out []float32) {
	t.Helper()
	bank := cache.NewBank(opts, b)
	q := lm.Sequence{Apart: apart, Caches: []cache.Cache{cache.NewSinkWindow(b), bank}}
	var text *mlx.Array // of all heads
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		text = s.Keep(s.Normal(s.Key(1), mlx.Float32, 0, 1, 1, h.Q+4*h.KV, rows, h.Dim))
		return s.Eval(text)
	})
	for ; q.Pos < rows; q.Pos += q.N {
		q.N = min(most, rows-q.Pos)
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			part := func(from, heads int) *mlx.Array {
				return s.Slice(s.Slice(text, 1, from, from+heads), 2, q.Pos, q.Pos+q.N)
			}
			q.Bounded = []*lm.Bounded{{KV: lm.KV{K: part(0, h.KV), V: part(h.KV, h.KV)}, Bank: bank}}
			qk, v := part(2*h.KV, h.Q+h.KV), part(h.Q+3*h.KV, h.KV)
			h.Restore(s, qk, v, nil, lm.Batch{q}, 0, func(kv lm.KV) lm.KV { return kv })
			x := s.Contiguous(h.Attend(s, qk, v, nil, lm.Batch{q}, 0))
			if err := s.Eval(append(cache.Stack(q.Caches).Arrays(), x)...); err != nil {
				return err
			}
			got, err := mlx.Read[float32](s, x)
			out = append(out, got...)
			return err
		})
	}
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		text.Free()
		cache.Stack(q.Caches).Free(s)
		return nil
	})
	return out
}

// BenchmarkBoundedLayer attends own and restored rows of one layer after a text of so many
// positions. It does so in a step of decoding, in a verify block and in a chunk of a prompt. A
// layer that keeps every row is measured beside it.
func BenchmarkBoundedLayer(b *testing.B) {
	h := nn.Heads{Q: 8, KV: 4, Dim: 64, Scale: 0.125}
	for _, at := range []int{1 << 12, 1 << 15} {
		for _, n := range []int{1, 8, cache.MaxChunk} {
			for _, bounded := range []bool{false, true} {
				b.Run(fmt.Sprintf("positions=%d/rows=%d/bounded=%v", at, n, bounded),
					func(b *testing.B) { benchmarkLayer(b, h, at, n, bounded) })
			}
		}
	}
}

func benchmarkLayer(b *testing.B, h nn.Heads, at, n int, bounded bool) {
	th := enginetest.NewThread(b)
	q := lm.Sequence{N: n, Pos: at, Caches: []cache.Cache{cache.NewKV(0)}}
	var bank *cache.Bank
	if bounded {
		bounds := cache.Bounds{Sink: cache.DefaultSink, Window: cache.DefaultWindow}
		bank = cache.NewBank(cache.Options{Rows: at + n}, bounds)
		q.Caches = []cache.Cache{cache.NewSinkWindow(bounds), bank}
	}
	var rows *mlx.Array
	do := func(f func(s *mlx.Scope) error) {
		b.Helper()
		if err := th.Do(b.Context(), f); err != nil {
			b.Fatal(err)
		}
	}
	do(func(s *mlx.Scope) error {
		rows = s.Keep(s.Normal(s.Key(1), mlx.Float32, 0, 1, 1, h.Q+h.KV, n, h.Dim))
		return s.Eval(rows)
	})
	begin := make([]*cache.Snapshot, len(q.Caches))
	for i, c := range q.Caches {
		do(func(s *mlx.Scope) error {
			held := at
			if bounded && i == 0 {
				held = cache.DefaultSink + cache.DefaultWindow - 1
			}
			x := s.Zeros(mlx.Float32, 1, h.KV, held, h.Dim)
			p := cache.NewStored(at-held, at, zeros{x})
			defer p.Release()
			if err := c.Restore(s, []*cache.Snapshot{p}, at); err != nil {
				return err
			}
			if err := s.Eval(c.Arrays()...); err != nil {
				return err
			}
			var err error
			begin[i], err = c.Snapshot(s, 0)
			return err
		})
	}
	for b.Loop() {
		do(func(s *mlx.Scope) error {
			v := s.Slice(rows, 1, 0, h.KV)
			if bounded {
				q.Bounded = []*lm.Bounded{{KV: lm.KV{K: v, V: v}, Bank: bank}}
			}
			h.Restore(s, rows, v, nil, lm.Batch{q}, 0, func(kv lm.KV) lm.KV { return kv })
			out := h.Attend(s, rows, v, nil, lm.Batch{q}, 0)
			return s.Eval(append(cache.Stack(q.Caches).Arrays(), out)...)
		})
		b.StopTimer()
		do(func(s *mlx.Scope) error {
			for i, c := range q.Caches {
				if err := c.Restore(s, begin[i:i+1], at); err != nil {
					return err
				}
			}
			return s.Eval(cache.Stack(q.Caches).Arrays()...)
		})
		b.StartTimer()
	}
}

type zeros struct{ rows *mlx.Array }

func (z zeros) Rows(*mlx.Scope) (k, v *mlx.Array) { return z.rows, z.rows }
