package mlx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// normal returns n numbers around 0.
func normal(r *rand.Rand, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(r.NormFloat64())
	}
	return list
}

// multiply returns x (rows, in) times the transpose of w (out, in), summed in float64.
func multiply(x, w []float32, rows, in, out int) []float64 {
	list := make([]float64, 0, rows*out)
	for i := range rows {
		for j := range out {
			var sum float64
			for k := range in {
				sum += float64(x[i*in+k]) * float64(w[j*in+k])
			}
			list = append(list, sum)
		}
	}
	return list
}

// checkNear fails the test if a number of got is not the wanted one, but for rounding.
func checkNear(t *testing.T, got []float32, want []float64, in int) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d numbers, want %d", len(got), len(want))
		return
	}
	for i := range want {
		if !(math.Abs(float64(got[i])-want[i]) <= 1e-6*float64(in)) {
			t.Errorf("number %d is %g, want %g", i, got[i], want[i])
			return
		}
	}
}

// checkSame fails the test unless an array has the wanted bits.
func checkSame(t *testing.T, what string, s *Scope, a *Array, want []float32) {
	t.Helper()
	got, err := Read[float32](s, a)
	if err != nil {
		t.Error(err)
	} else if !slices.Equal(got, want) {
		t.Errorf("%s: other bits", what)
	}
}

// TestTiledMatMul multiplies shapes around the sizes of tiles, on each kernel that the processor has.
// A row alone gets the same bits, and so does any kernel that the processor's vectors have.
func TestTiledMatMul(t *testing.T) {
	th := newThread(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, shape := range [][3]int{{1, 1, 1}, {1, 256, 32}, {2, 17, 33}, {3, 255, 31}, {5, 257, 47},
		{8, 64, 48}, {13, 640, 96}, {64, 300, 130}, {300, 520, 70}} {
		rows, in, out := shape[0], shape[1], shape[2]
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			x, w := normal(r, rows*in), normal(r, out*in)
			want := multiply(x, w, rows, in, out)
			var fastest []float32
			for on := range targets() {
				do(t, th, func(s *Scope) error {
					a := New(s, x, rows, in)
					turned := s.Transpose(New(s, w, out, in), 1, 0)
					got, err := Read[float32](s, s.tiledMatMul(a, turned, on))
					if err != nil {
						return err
					}
					checkNear(t, got, want, in)
					if on == 0 {
						fastest = got
					} else if on < targets()-1 && !slices.Equal(got, fastest) {
						t.Errorf("target %d: other bits than the fastest", on)
					}
					checkSame(t, "another order of w", s,
						s.tiledMatMul(a, s.Contiguous(turned), on), got)
					turnedRows := s.Transpose(s.Contiguous(s.Transpose(a, 1, 0)), 1, 0)
					checkSame(t, "another order of x", s,
						s.tiledMatMul(turnedRows, turned, on), got)
					var alone []*Array
					for i := range rows {
						alone = append(alone, s.tiledMatMul(s.Slice(a, 0, i, i+1), turned, on))
					}
					checkSame(t, "rows alone", s, s.Concat(0, alone...), got)
					return nil
				})
			}
		})
	}
}

// TestTiledGatherMM sends rows to matrices of a stack, on each kernel that the processor has. Some
// matrices get none. A row alone gets the same bits.
func TestTiledGatherMM(t *testing.T) {
	th := newThread(t)
	r := rand.New(rand.NewPCG(3, 4))
	const matrices, in, out = 5, 70, 45
	w := normal(r, matrices*out*in)
	for _, shape := range [][3]int{ // rows, choices of each, rows that the choices have of their own
		{1, 1, 1}, {3, 1, 1}, {1, 3, 1}, {3, 3, 1}, {40, 3, 3}, {700, 3, 1}, {200, 2, 2},
	} {
		n, k, own := shape[0], shape[1], shape[2]
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			x, ids := normal(r, n*own*in), make([]uint32, n*k)
			for i := range ids {
				ids[i] = uint32(r.IntN(matrices - 1))
			}
			var want []float64
			for i, id := range ids {
				row := i / k * own
				if own > 1 {
					row = i
				}
				want = append(want,
					multiply(x[row*in:][:in], w[int(id)*out*in:][:out*in], 1, in, out)...)
			}
			for on := range targets() {
				do(t, th, func(s *Scope) error {
					a, chosen := New(s, x, n, own, 1, in), New(s, ids, n, k)
					stack := s.Transpose(New(s, w, matrices, out, in), 0, 2, 1)
					y := s.tiledGatherMM(a, stack, chosen, on)
					if !slices.Equal(y.Shape(), []int{n, k, 1, out}) {
						t.Errorf("shape %v", y.Shape())
					}
					got, err := Read[float32](s, y)
					if err != nil {
						return err
					}
					checkNear(t, got, want, in)
					checkSame(t, "another order of w", s,
						s.tiledGatherMM(a, s.Contiguous(stack), chosen, on), got)
					var alone []*Array
					for i := range n {
						alone = append(alone, s.tiledGatherMM(s.Slice(a, 0, i, i+1), stack,
							s.Slice(chosen, 0, i, i+1), on))
					}
					checkSame(t, "rows alone", s, s.Concat(0, alone...), got)
					return nil
				})
			}
		})
	}
}

// TestTiledMatMulInTwoThreads lets two threads multiply at once. Only one of them has the helpers.
func TestTiledMatMulInTwoThreads(t *testing.T) {
	const rows, in, out = 64, 300, 640
	r := rand.New(rand.NewPCG(5, 6))
	x, w := normal(r, rows*in), normal(r, out*in)
	want := multiply(x, w, rows, in, out)
	var all sync.WaitGroup
	for range 2 {
		th := newThread(t)
		all.Go(func() {
			for range 200 {
				do(t, th, func(s *Scope) error {
					y := s.TiledMatMul(New(s, x, rows, in), s.Transpose(New(s, w, out, in), 1, 0))
					got, err := Read[float32](s, y)
					if err == nil {
						checkNear(t, got, want, in)
					}
					return err
				})
			}
		})
	}
	all.Wait()
}

// TestTiledProductsRefuseOtherArrays expects an error for each type and shape that they cannot take.
func TestTiledProductsRefuseOtherArrays(t *testing.T) {
	th := newThread(t)
	for _, test := range []struct {
		name string
		make func(s *Scope) *Array
	}{
		{"type of x", func(s *Scope) *Array {
			return s.TiledMatMul(s.Zeros(BFloat16, 1, 8), s.Zeros(Float32, 8, 4))
		}},
		{"type of w", func(s *Scope) *Array {
			return s.TiledMatMul(s.Zeros(Float32, 1, 8), s.Zeros(BFloat16, 8, 4))
		}},
		{"width", func(s *Scope) *Array {
			return s.TiledMatMul(s.Zeros(Float32, 1, 8), s.Zeros(Float32, 9, 4))
		}},
		{"axes", func(s *Scope) *Array {
			return s.TiledMatMul(s.Zeros(Float32, 1, 1, 8), s.Zeros(Float32, 8, 4))
		}},
		{"type of indices", func(s *Scope) *Array {
			return s.TiledGatherMM(s.Zeros(Float32, 1, 1, 1, 8), s.Zeros(Float32, 2, 8, 4),
				s.Zeros(Float32, 1, 2))
		}},
		{"rows of indices", func(s *Scope) *Array {
			return s.TiledGatherMM(s.Zeros(Float32, 3, 1, 1, 8), s.Zeros(Float32, 2, 8, 4),
				s.Zeros(Uint32, 2, 2))
		}},
	} {
		err := th.Do(t.Context(), func(s *Scope) error { return s.Eval(test.make(s)) })
		if err == nil || !strings.Contains(err.Error(), "cannot multiply") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
