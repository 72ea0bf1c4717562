package cache_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

func TestSinkWindowPassesTheSuite(t *testing.T) {
	for _, b := range []cache.Bounds{
		{Sink: 4, Window: 64}, {Sink: 0, Window: 8}, {Sink: 3, Window: 2}, {Sink: 40, Window: 5},
		{Sink: 3, Window: 1},
	} {
		kind := enginetest.CacheKind{
			New:  func() cache.Attention { return cache.NewSinkWindow(b) },
			Sink: b.Sink, Window: b.Window, MaxRows: cache.MaxBlock,
		}
		t.Run(kind.String(), func(t *testing.T) { enginetest.TestCache(t, kind) })
	}
}

// withOwn is a bank for a window of 1 whose view also has each query's own row, taken from the
// bank. So its queries attend all rows up to their own, and the suite can judge them.
type withOwn struct{ *cache.Bank }

func (c withOwn) Update(s *mlx.Scope, k, v *mlx.Array) cache.View {
	c.Append(s, k, v)
	return c.View(s, k.Dim(2))
}

func (c withOwn) View(s *mlx.Scope, n int) cache.View {
	restored := c.Restored(s, n)
	if s.Err() != nil {
		return cache.View{}
	}
	p, err := c.Snapshot(s, c.Offset()-n)
	if err != nil {
		s.Fail(err)
		return cache.View{}
	}
	defer p.Release()
	k, v := p.Rows(s)
	held := p.To() - p.From()
	eye := make([]bool, n*n)
	for i := range n {
		eye[i*n+i] = true
	}
	return cache.View{K: s.Concat(2, s.Slice(k, 2, held-n, held), restored.K),
		V:    s.Concat(2, s.Slice(v, 2, held-n, held), restored.V),
		Mask: s.Concat(1, mlx.New(s, eye, n, n), restored.Mask)}
}

func TestBankPassesTheSuite(t *testing.T) {
	kind := enginetest.CacheKind{New: func() cache.Attention {
		return withOwn{cache.NewBank(cache.Options{}, cache.Bounds{Window: 1})}
	}}
	t.Run(kind.String(), func(t *testing.T) { enginetest.TestCache(t, kind) })
	kind = enginetest.CacheKind{New: func() cache.Attention {
		return withOwn{cache.NewBank(cache.Options{Layout: cache.Full},
			cache.Bounds{Window: 1, Reach: 40})}
	}, Window: 40}
	t.Run(kind.String(), func(t *testing.T) { enginetest.TestCache(t, kind) })
	kind = enginetest.CacheKind{New: func() cache.Attention {
		return withOwn{cache.NewBank(cache.Options{Chunk: cache.MaxBlock},
			cache.Bounds{Window: 1, Reach: 40})}
	}, Window: 40, MaxRows: cache.MaxBlock}
	t.Run(kind.String(), func(t *testing.T) { enginetest.TestCache(t, kind) })
}

// A divided layer keeps own rows and restored rows.
type divided struct {
	own  *cache.SinkWindow
	bank *cache.Bank // nil = nothing is restored
}

func newDivided(opts cache.Options, b cache.Bounds) *divided {
	return &divided{cache.NewSinkWindow(b), cache.NewBank(opts, b)}
}

func (l *divided) caches() cache.Stack {
	if l.bank == nil {
		return cache.Stack{l.own}
	}
	return cache.Stack{l.own, l.bank}
}

// attend appends rows and returns what their queries attend, row by row, in runs of at most step.
// Each run is attended in blocks of this many queries.
func (l *divided) attend(t *testing.T, th *mlx.Thread, q, own, restored []float32, dim,
	step, block int, ordered bool) (rows [][]float32) {
	t.Helper()
	n := len(q) / dim
	do(t, th, func(s *mlx.Scope) error {
		if l.bank != nil {
			r := mlx.New(s, restored, 1, 1, n, dim)
			l.bank.Append(s, r, r)
		}
		var outs []*mlx.Array
		x, queries := mlx.New(s, own, 1, 1, n, dim), mlx.New(s, q, 1, 1, n, dim)
		for _, run := range (cache.Divided{Window: l.own, Bank: l.bank,
			Ordered: ordered}).Update(s, x, x, step) {
			for from := run.From; from < run.To; from += block {
				to := min(from+block, run.To)
				outs = append(outs, enginetest.Attend(s, s.Slice(queries, 2, from, to),
					run.Cut(s, from, to), 1))
			}
		}
		out := s.Reshape(s.Contiguous(s.Concat(2, outs...)), n, dim)
		if err := s.Eval(append(l.caches().Arrays(), out)...); err != nil {
			return err
		}
		var err error
		rows, err = enginetest.ReadRows(s, out)
		return err
	})
	return rows
}

// TestOwnAndRestoredRowsDivideAText attends a text by random runs. Some are dropped and written
// again, some after a snapshot and a restore. Each query has to get what attention in float64 gives
// it. That attention is over own rows of the sink and of the window, and over restored rows
// between, if there are any.
func TestOwnAndRestoredRowsDivideAText(t *testing.T) {
	th := enginetest.NewThread(t)
	const dim, length = 16, 400
	for seed, c := range []struct {
		b     cache.Bounds
		opts  cache.Options
		alone bool // without a bank
	}{
		{cache.Bounds{Sink: 4, Window: 64}, cache.Options{}, false},
		{cache.Bounds{Sink: 0, Window: 1}, cache.Options{}, false},
		{cache.Bounds{Sink: 3, Window: 1}, cache.Options{}, false},
		{cache.Bounds{Sink: 9, Window: 33}, cache.Options{}, false},
		{cache.Bounds{Sink: 4, Window: 20, Reach: 90}, cache.Options{Chunk: 70}, false}, // a ring
		{cache.Bounds{Sink: 4, Window: 20, Reach: 90}, cache.Options{Layout: cache.Full}, false},
		{cache.Bounds{Sink: 4, Window: 64}, cache.Options{}, true},
		{cache.Bounds{Sink: 40, Window: 5}, cache.Options{}, true},
	} {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		random := func() []float32 {
			x := make([]float32, length*dim)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			return x
		}
		q, own, restored := random(), random(), random()
		want := func(at int) []float64 {
			sum, out := 0.0, make([]float64, dim)
			for p := range at + 1 {
				row := restored[p*dim:][:dim]
				if p < c.b.Sink || p > at-c.b.Window {
					row = own[p*dim:][:dim]
				} else if c.alone {
					continue
				}
				if c.b.Reach > 0 && p <= at-c.b.Reach {
					continue
				}
				dot := 0.0
				for d, x := range row {
					dot += float64(x) * float64(q[at*dim+d])
				}
				w := math.Exp(dot)
				sum += w
				for d, x := range row {
					out[d] += w * float64(x)
				}
			}
			for d := range out {
				out[d] /= sum
			}
			return out
		}
		fresh := func() *divided {
			l := newDivided(c.opts, c.b)
			if c.alone {
				l.bank = nil
			}
			return l
		}
		l := fresh()
		for at := 0; at < length; {
			n := min(1+rng.IntN(70), length-at)
			if rng.IntN(2) == 0 {
				n = min(n, 3)
			}
			cut := func(x []float32) []float32 { return x[at*dim : (at+n)*dim] }
			rows := l.attend(t, th, cut(q), cut(own), cut(restored), dim,
				1+rng.IntN(2*cache.MaxBlock), []int{1, 7, length}[rng.IntN(3)], rng.IntN(2) == 0)
			for i, row := range rows {
				for d, w := range want(at + i) {
					if !(math.Abs(float64(row[d])-w) <= 1e-4) {
						t.Fatalf("%+v: position %d in a run of %d at %d: got %g, want %g",
							c.b, at+i, n, at, row[d], w)
					}
				}
			}
			keep := n
			if n <= cache.MaxBlock {
				keep = rng.IntN(n + 1)
			}
			if err := l.caches().Trim(n - keep); err != nil {
				t.Fatal(err)
			}
			at += keep
			if rng.IntN(4) == 0 {
				l = l.moved(t, th, fresh())
			}
		}
		do(t, th, func(s *mlx.Scope) error { l.caches().Free(s); return nil })
	}
}

// moved restores other from snapshots of l, frees l and returns other.
func (l *divided) moved(t *testing.T, th *mlx.Thread, other *divided) *divided {
	do(t, th, func(s *mlx.Scope) error {
		for i, c := range l.caches() {
			p, err := c.Snapshot(s, 0)
			if err != nil {
				return err
			}
			defer p.Release()
			if err := other.caches()[i].Restore(s, []*cache.Snapshot{p}, p.To()); err != nil {
				return err
			}
		}
		if err := s.Eval(append(other.caches().Arrays(), l.caches().Arrays()...)...); err != nil {
			return err
		}
		l.caches().Free(s)
		return nil
	})
	return other
}

// TestOwnRowsStayFlat expects the same measured bytes at every length beyond the window.
func TestOwnRowsStayFlat(t *testing.T) {
	th := enginetest.NewThread(t)
	const row = 2 * 2 * 16 * 4 // keys and values of two heads
	for _, b := range []cache.Bounds{{Sink: 4, Window: 64}, {Sink: 4, Window: 300}} {
		c := cache.NewSinkWindow(b)
		for _, length := range []int{1, 1024, 4096, 8192} {
			for c.Offset() < length {
				do(t, th, func(s *mlx.Scope) error {
					x := s.Zeros(mlx.Float32, 1, 2, min(cache.MaxBlock, length-c.Offset()), 16)
					c.Update(s, x, x)
					return s.Eval(c.Arrays()...)
				})
			}
			if rows := c.Bytes() / row; rows != int64(b.Sink+b.Window-1+cache.MaxBlock) {
				t.Errorf("%+v: at %d positions the cache holds %d rows", b, length, rows)
			}
		}
		do(t, th, func(s *mlx.Scope) error { c.Free(s); return nil })
	}
}

func TestBoundsAreChecked(t *testing.T) {
	for _, b := range []cache.Bounds{{Sink: -1, Window: 1}, {Sink: cache.MaxSink + 1, Window: 1}, {},
		{Window: cache.MaxWindow + 1}, {Window: 1, Reach: -1}} {
		if b.Check() == nil {
			t.Errorf("%+v was not refused", b)
		}
	}
}
