package cache_test

import (
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// The view of no rows shows what the next position attends, however the newest rows were written and
// dropped: the rows of its window before its own.
func TestViewOfTheNextPosition(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, of := range []struct {
		name   string
		window int
		cache  cache.Attention
	}{
		{"every row", 0, cache.NewKV(0)},
		{"every row, masked", 5, cache.NewKV(5)},
		{"a ring", 5, cache.NewRotating(5, 1)},
		{"quantized rows", 0, cache.NewQuantized(8)},
	} {
		written := 0
		for i, n := range []int{1, 3, 1, 1, 9, 32, 1, 32, 20, 1} {
			drop := []int{0, 2, 0, 0, 9, 31, 0, 16, 20, 0}[i]
			enginetest.Do(t, th, func(s *mlx.Scope) error {
				rows := make([]float32, n*32)
				for j := range rows {
					rows[j] = float32(written + j/32)
				}
				x := mlx.New(s, rows, 1, 1, n, 32)
				of.cache.Update(s, x, x)
				if err := s.Eval(of.cache.Arrays()...); err != nil {
					return err
				}
				return of.cache.Trim(drop)
			})
			written += n - drop
			var want []int
			for p := range written {
				if of.window == 0 || p > written-of.window {
					want = append(want, p)
				}
			}
			if got := attended(t, th, of.cache); !slices.Equal(got, want) {
				t.Errorf("%s: after %d rows the next position attends %v, want %v", of.name, written,
					got, want)
			}
		}
		enginetest.Do(t, th, func(s *mlx.Scope) error { of.cache.Free(s); return nil })
	}
}

// attended returns the positions that the view of no rows shows, each of which is the value of its
// row.
func attended(t *testing.T, th *mlx.Thread, c cache.Attention) (positions []int) {
	t.Helper()
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		view := c.View(s, 0).Dequantize(s)
		if s.Err() != nil {
			return s.Err()
		}
		size := view.K.Dim(2)
		shown := slices.Repeat([]int32{1}, size)
		values, err := mlx.Read[float32](s, s.Contiguous(s.Slice(s.AsType(view.K, mlx.Float32), 3, 0, 1)))
		if err != nil {
			return err
		}
		if c.View(s, 0).Mask != nil {
			if shown, err = mlx.Read[int32](s, s.AsType(c.View(s, 0).Mask, mlx.Int32)); err != nil {
				return err
			}
		}
		for i := range size {
			if shown[i] == 1 {
				positions = append(positions, int(values[i]+0.5))
			}
		}
		slices.Sort(positions)
		return nil
	})
	return positions
}
