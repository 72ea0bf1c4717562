package sample_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

func TestLikeliestFindsTheLargest(t *testing.T) {
	th := enginetest.NewThread(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, vocab := range []int{16, 17, 260, 1000, 1024, 4096, 49152 / 8, 6001} {
		const rows, k = 5, 16
		x := make([]float32, rows*vocab)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		for i := range 20 { // neighbours
			x[min(i, vocab-1)] = 10 + float32(i)
		}
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			ids, err := mlx.Read[int32](s, s.Contiguous(sample.Likeliest(s, mlx.New(s, x, rows, vocab), k)))
			for i := range rows {
				row := x[i*vocab : (i+1)*vocab]
				order := make([]int32, vocab)
				for id := range order {
					order[id] = int32(id)
				}
				slices.SortFunc(order, func(a, b int32) int {
					if row[a] > row[b] {
						return -1
					}
					return 1
				})
				want := slices.Sorted(slices.Values(order[:k]))
				if got := slices.Sorted(slices.Values(ids[i*k : (i+1)*k])); !slices.Equal(got, want) {
					t.Errorf("of %d: %v, want %v", vocab, got, want)
				}
			}
			return err
		})
	}
}
