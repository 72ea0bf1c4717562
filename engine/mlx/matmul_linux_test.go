package mlx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
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
		t.Fatalf("%d numbers, want %d", len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(float64(got[i])-want[i]) <= 1e-6*float64(in)) {
			t.Fatalf("number %d is %g, want %g", i, got[i], want[i])
		}
	}
}

// TestTiledMatMul multiplies shapes around the sizes of tiles. A row alone gets the same bits.
func TestTiledMatMul(t *testing.T) {
	th := enginetest.NewThread(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, shape := range [][3]int{{1, 1, 1}, {1, 256, 32}, {2, 17, 33}, {3, 255, 31}, {5, 257, 47},
		{8, 64, 48}, {13, 640, 96}, {64, 300, 130}, {300, 520, 70}} {
		rows, in, out := shape[0], shape[1], shape[2]
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			x, w := normal(r, rows*in), normal(r, out*in)
			want := multiply(x, w, rows, in, out)
			enginetest.Do(t, th, func(s *mlx.Scope) error {
				a := mlx.New(s, x, rows, in)
				turned := s.Transpose(mlx.New(s, w, out, in), 1, 0)
				got, err := mlx.Read[float32](s, s.TiledMatMul(a, turned))
				if err != nil {
					return err
				}
				checkNear(t, got, want, in)
				// Other strides of both, and each row by itself.
				alike := []*mlx.Array{
					s.TiledMatMul(a, s.Contiguous(turned)),
					s.TiledMatMul(s.Transpose(s.Contiguous(s.Transpose(a, 1, 0)), 1, 0), turned),
				}
				var alone []*mlx.Array
				for i := range rows {
					alone = append(alone, s.TiledMatMul(s.Slice(a, 0, i, i+1), turned))
				}
				alike = append(alike, s.Concat(0, alone...))
				for i, b := range alike {
					same, err := mlx.Read[float32](s, b)
					if err != nil {
						return err
					}
					var d enginetest.Diff
					d.Compare(fmt.Sprint("way ", i), same, got)
					d.Check(t)
				}
				return nil
			})
		})
	}
}

// TestTiledGatherMM sends rows to matrices of a stack. Some matrices get none.
func TestTiledGatherMM(t *testing.T) {
	th := enginetest.NewThread(t)
	r := rand.New(rand.NewPCG(3, 4))
	const matrices, in, out = 5, 70, 45
	w := normal(r, matrices*out*in)
	for _, n := range []int{1, 3, 40, 700} {
		for _, k := range []int{1, 3} {
			for _, own := range []int{1, k} { // rows that each choice has of its own
				t.Run(fmt.Sprint(n, " ", k, " ", own), func(t *testing.T) {
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
						want = append(want, multiply(x[row*in:][:in],
							w[int(id)*out*in:][:out*in], 1, in, out)...)
					}
					enginetest.Do(t, th, func(s *mlx.Scope) error {
						a := mlx.New(s, x, n, own, 1, in)
						stack := s.Transpose(mlx.New(s, w, matrices, out, in), 0, 2, 1)
						chosen := mlx.New(s, ids, n, k)
						y := s.TiledGatherMM(a, stack, chosen)
						if got := fmt.Sprint(y.Shape()); got != fmt.Sprint([]int{n, k, 1, out}) {
							t.Errorf("shape %s", got)
						}
						got, err := mlx.Read[float32](s, y)
						if err == nil {
							checkNear(t, got, want, in)
						}
						return err
					})
				})
			}
		}
	}
}
