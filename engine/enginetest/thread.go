package enginetest

import (
	"slices"
	"testing"

	"tandem/engine/mlx"
)

// NewThread starts a thread on the CPU, which ends with the test.
func NewThread(t testing.TB) *mlx.Thread {
	t.Helper()
	return newThread(t, mlx.Options{CPU: true})
}

// NewBLASThread starts a thread that leaves products of float32 to BLAS. Under OpenBLAS a row's bits
// depend on the number of rows, as on a GPU.
func NewBLASThread(t testing.TB) *mlx.Thread {
	t.Helper()
	return newThread(t, mlx.Options{CPU: true, BLAS: true})
}

func newThread(t testing.TB, opts mlx.Options) *mlx.Thread {
	t.Helper()
	th, err := mlx.NewThread(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { th.Close() })
	return th
}

// Do runs fn on the thread; its error ends the test.
func Do(t testing.TB, th *mlx.Thread, fn func(*mlx.Scope) error) {
	t.Helper()
	if err := th.Do(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// ReadRows reads an array (rows, V) of floats of any type.
func ReadRows(s *mlx.Scope, a *mlx.Array) ([][]float32, error) {
	flat, err := mlx.Read[float32](s, s.Contiguous(s.AsType(a, mlx.Float32)))
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(flat, a.Dim(-1))), nil
}
