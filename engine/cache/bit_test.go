package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// The bit suite runs rows through two layers of a transformer: projections, rope, a cache,
// attention, a feed-forward. Every way of cutting the rows into updates has to give the same bits
// as one row at a time.
const (
	bitRows   = 120
	bitHidden = 128
	bitHeads  = 4
	bitKV     = 2
	bitDim    = 32
	bitWindow = 16
	bitChunk  = 40 // R = 55
)

type bitLayer struct{ q, k, v, o, up, down *mlx.Array } // (in, out)

type bitModel struct {
	th     *mlx.Thread
	dtype  mlx.Dtype
	x      *mlx.Array // (rows, H)
	layers []bitLayer
}

func newBitModel(t *testing.T, dtype mlx.Dtype) *bitModel {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { th.Close() })
	m := &bitModel{th: th, dtype: dtype}
	do(t, th, func(s *mlx.Scope) error {
		var all []*mlx.Array
		random := func(rows, cols int, scale float32) *mlx.Array {
			a := s.Keep(s.Normal(s.Key(uint64(len(all))), dtype, 0, scale, rows, cols))
			all = append(all, a)
			return a
		}
		m.x = random(bitRows, bitHidden, 1)
		for range 2 {
			const scale = 0.09 // about 1/sqrt(H)
			m.layers = append(m.layers, bitLayer{
				q:    random(bitHidden, bitHeads*bitDim, scale),
				k:    random(bitHidden, bitKV*bitDim, scale),
				v:    random(bitHidden, bitKV*bitDim, scale),
				o:    random(bitHeads*bitDim, bitHidden, scale),
				up:   random(bitHidden, 4*bitHidden, scale),
				down: random(4*bitHidden, bitHidden, scale/2),
			})
		}
		return s.Eval(all...)
	})
	t.Cleanup(func() {
		m.x.Free()
		for _, l := range m.layers {
			for _, a := range []*mlx.Array{l.q, l.k, l.v, l.o, l.up, l.down} {
				a.Free()
			}
		}
	})
	return m
}

func do(t *testing.T, th *mlx.Thread, fn func(*mlx.Scope) error) {
	t.Helper()
	if err := th.Do(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

// forward runs rows [pos, pos+n) and returns the hidden states (n, H).
func (m *bitModel) forward(t *testing.T, caches []cache.Cache, pos, n int) (out []float32) {
	t.Helper()
	do(t, m.th, func(s *mlx.Scope) (err error) {
		x := s.Slice(m.x, 0, pos, pos+n)
		split := func(a *mlx.Array, heads int) *mlx.Array {
			return s.Transpose(s.Reshape(a, 1, n, heads, bitDim), 0, 2, 1, 3)
		}
		rope := mlx.Rope{Dims: bitDim, Base: 10000, Scale: 1}
		var keep []*mlx.Array
		for i, l := range m.layers {
			h := s.RMSNorm(x, nil, 1e-6)
			q := s.Rope(split(s.MatMul(h, l.q), bitHeads), rope, pos)
			k := s.Rope(split(s.MatMul(h, l.k), bitKV), rope, pos)
			view := caches[i].(cache.Attention).Update(s, k, split(s.MatMul(h, l.v), bitKV))
			a := s.Transpose(enginetest.Attend(s, q, view, 0.18), 0, 2, 1, 3)
			x = s.Add(x, s.MatMul(s.Reshape(a, n, bitHeads*bitDim), l.o))
			up := s.MatMul(s.RMSNorm(x, nil, 1e-6), l.up)
			x = s.Add(x, s.MatMul(s.Mul(up, s.Sigmoid(up)), l.down))
			keep = append(keep, caches[i].Arrays()...)
		}
		x = s.AsType(x, mlx.Float32)
		if err := s.Eval(append(keep, x)...); err != nil {
			return err
		}
		out, err = mlx.Read[float32](s, x)
		return err
	})
	return out
}

// bitCaches makes the caches of the two layers.
var bitCaches = []struct {
	name string
	open func() []cache.Cache
}{
	{"full", func() []cache.Cache { return []cache.Cache{cache.NewKV(0), cache.NewKV(bitWindow)} }},
	{"ring", func() []cache.Cache { return []cache.Cache{cache.NewRotating(bitWindow, bitChunk), cache.NewKV(0)} }},
	{"rings", func() []cache.Cache {
		return []cache.Cache{cache.NewRotating(bitWindow, bitChunk),
			cache.NewRotating(2*bitWindow, bitChunk)}
	}},
	{"quantized", func() []cache.Cache { return []cache.Cache{cache.NewQuantized(4), cache.NewQuantized(8)} }},
	{"ring and quantized", func() []cache.Cache {
		return []cache.Cache{cache.NewRotating(bitWindow, bitChunk), cache.NewQuantized(4)}
	}},
}

// bitSuite compares every chunk size with single rows. If trimmed is set, it also drops rows on the
// way.
func bitSuite(t *testing.T, d *enginetest.Diff, dtype mlx.Dtype) {
	m := newBitModel(t, dtype)
	free := func(caches []cache.Cache) {
		do(t, m.th, func(s *mlx.Scope) error {
			for _, c := range caches {
				c.Free(s)
			}
			return nil
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, layout := range bitCaches {
		want := make([][]float32, bitRows)
		caches := layout.open()
		for i := range want {
			want[i] = m.forward(t, caches, i, 1)
		}
		free(caches)
		for _, chunk := range []int{2, 4, 7, 8, 16, bitChunk, 0} {
			for _, trimmed := range []bool{false, true} {
				caches := layout.open()
				for pos := 0; pos < bitRows; {
					n := chunk
					if n == 0 {
						n = 1 + rng.IntN(bitChunk)
					}
					n = min(n, bitRows-pos)
					got := m.forward(t, caches, pos, n)
					for i := range n {
						d.Compare(fmt.Sprintf("%s %s, updates of %d, trimmed %v, position %d",
							dtype, layout.name, chunk, trimmed, pos+i),
							got[i*bitHidden:(i+1)*bitHidden], want[pos+i])
					}
					keep := n
					if trimmed {
						keep = 1 + rng.IntN(n)
						for _, c := range caches {
							if err := c.Trim(n - keep); err != nil {
								t.Fatal(err)
							}
						}
					}
					pos += keep
				}
				free(caches)
			}
		}
	}
}

func TestBitFloat32(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	var d enginetest.Diff
	bitSuite(t, &d, mlx.Float32)
	d.Check(t)
}

func TestBitBFloat16(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	var d enginetest.Diff
	bitSuite(t, &d, mlx.BFloat16)
	d.Check(t)
}

func TestBitControl(t *testing.T) {
	enginetest.Control(t, func(d *enginetest.Diff) { bitSuite(t, d, mlx.Float32) })
}
