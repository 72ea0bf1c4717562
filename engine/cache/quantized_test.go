package cache_test

import (
	"math"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// TestQuantizedTakesFewerBytes compares the live arrays of caches that hold the same rows.
func TestQuantizedTakesFewerBytes(t *testing.T) {
	th := enginetest.NewThread(t)
	held := func(c cache.Attention, d mlx.Dtype, rows, dim int) (bytes int64) {
		do(t, th, func(s *mlx.Scope) error {
			for c.Offset() < rows {
				n := min(500, rows-c.Offset())
				x := s.Normal(s.Key(uint64(c.Offset())), d, 0, 1, 1, 3, n, dim)
				c.Update(s, x, x)
				if err := s.Eval(c.Arrays()...); err != nil {
					return err
				}
			}
			for _, a := range c.Arrays() {
				bytes += a.Bytes()
			}
			c.Free(s)
			return nil
		})
		return bytes
	}
	for _, dim := range []int{64, 128, 256} {
		for _, rows := range []int{1, 700, 1024, 4100} {
			plain := held(cache.NewKV(0), mlx.BFloat16, rows, dim)
			for _, c := range []struct {
				bits  int
				dtype mlx.Dtype
				most  float64 // of the bytes of bfloat16
			}{
				{4, mlx.BFloat16, 0.29}, {4, mlx.Float32, 0.32},
				{8, mlx.BFloat16, 0.54}, {8, mlx.Float32, 0.57},
			} {
				got := held(cache.NewQuantized(c.bits), c.dtype, rows, dim)
				if part := float64(got) / float64(plain); part > c.most {
					t.Errorf("%d rows of %d in %d bits of %s: %d bytes, which are %.3f of %d in bfloat16",
						rows, dim, c.bits, c.dtype, got, part, plain)
				}
			}
		}
	}
}

// TestQuantizedRefusesHeads refuses, by their size and type, rows that cannot be quantized.
func TestQuantizedRefusesHeads(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, c := range []struct {
		dtype mlx.Dtype
		dim   int
		want  string // empty = it takes them
		group int
	}{
		{mlx.Float32, 64, "", 32}, {mlx.Float32, 96, "no multiple of 64", 64},
		{mlx.Float32, 64, "heads of 64", 16}, {mlx.Float32, 64, "heads of 64", -32},
		{mlx.Float32, 80, "heads of 80 elements", 0}, {mlx.Float32, 0, "heads of 0 elements", 0},
		{mlx.Int32, 64, "type I32", 0}, {mlx.Float32, 96, "", 0}, {mlx.Float16, 64, "", 0},
	} {
		q := cache.New(cache.Options{Bits: 8, Group: c.group}, 0)
		err := th.Do(t.Context(), func(s *mlx.Scope) error {
			x := s.Zeros(c.dtype, 1, 2, 3, c.dim)
			q.Update(s, x, x)
			return s.Err()
		})
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want) || q.Offset() != 0) {
			t.Errorf("heads of %d in %s: %v, want %q; offset %d", c.dim, c.dtype, err, c.want, q.Offset())
		}
		do(t, th, func(s *mlx.Scope) error { q.Free(s); return nil })
	}
}

// TestQuantizedRowsAreNear bounds what rows lose. It also measures the error as reports state it.
func TestQuantizedRowsAreNear(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, c := range []struct {
		bits int
		most float64 // squares of differences by squares of the rows
	}{{8, 1e-4}, {4, 2e-2}} {
		var difference, whole float64
		do(t, th, func(s *mlx.Scope) error {
			q := cache.NewQuantized(c.bits)
			defer q.Free(s)
			x := s.Normal(s.Key(1), mlx.Float32, 0, 1, 1, 2, 100, 64)
			view := q.Update(s, x, x).Dequantize(s)
			sums := []*mlx.Array{s.Sub(x, view.K), x}
			for i, sum := range []*float64{&difference, &whole} {
				flat := s.Reshape(s.Mul(sums[i], sums[i]), -1)
				v, err := mlx.Read[float32](s, s.Sum(flat, 0, true))
				if err != nil {
					return err
				}
				*sum = float64(v[0])
			}
			return s.Err()
		})
		if got := difference / whole; got > c.most || got == 0 || math.IsNaN(got) {
			t.Errorf("%d bits: the relative error is %g, at most %g wanted", c.bits, got, c.most)
		} else {
			t.Logf("%d bits: relative error %.3g", c.bits, got)
		}
	}
}

// TestQuantizedViewNeedsItsType has no view of restored rows before an update sets their type.
func TestQuantizedViewNeedsItsType(t *testing.T) {
	th := enginetest.NewThread(t)
	do(t, th, func(s *mlx.Scope) error {
		a, b := cache.NewQuantized(4), cache.NewQuantized(4)
		x := s.Zeros(mlx.BFloat16, 1, 1, 5, 64)
		a.Update(s, x, x)
		p, err := a.Snapshot(s, 0)
		if err != nil {
			return err
		}
		if err := b.Restore(s, []*cache.Snapshot{p}, 5); err != nil {
			return err
		}
		if err := s.Try(func() error { b.View(s, 1); return s.Err() }); err == nil {
			t.Error("a view was made of rows of unknown type")
		}
		view := b.Update(s, s.Slice(x, 2, 0, 1), s.Slice(x, 2, 0, 1)).Dequantize(s)
		if view.K.Dtype() != mlx.BFloat16 || view.K.Dim(2) != 6 {
			t.Errorf("the view is %s%v", view.K.Dtype(), view.K.Shape())
		}
		p.Release()
		a.Free(s)
		b.Free(s)
		return nil
	})
}
