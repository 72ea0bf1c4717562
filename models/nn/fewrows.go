package nn

import (
	_ "embed"

	"tandem/engine/mlx"
)

// fewRows multiplies a few rows with quantized matrices on the GPU, by its own kernel. It reads a
// matrix once for all rows of a verify block. `tandem bench verify` shows whether that gains. It is
// used only if Weights.FewRows is set. Otherwise, and for shapes that it does not take, MLX's own
// product does the work.
type fewRows struct{ kernel *mlx.Kernel }

//go:embed fewrows.metal
var fewRowsBody string

// Sizes of what a simdgroup and a threadgroup of the kernel compute. The sums of more than
// maxFewRows rows do not fit the registers of a lane.
const (
	maxFewRows        = 16
	fewRowsColumns    = 4 // outputs of a simdgroup
	fewRowsSimdgroups = 4 // of a threadgroup
	simdgroup         = 32
)

func newFewRows(s *mlx.Scope) *fewRows {
	return &fewRows{s.NewKernel(mlx.KernelSource{
		Name:   "tandem_few_rows",
		Inputs: []string{"x", "w", "scales", "biases"}, Outputs: []string{"out"},
		Body: fewRowsBody,
	})}
}

// takes reports whether the kernel can multiply rows with m. One row is left to MLX, whose product
// is made for it.
func (f *fewRows) takes(m *matrix, rows int) bool {
	if f == nil || m.float32Scales || m.global != nil {
		return false
	}
	q := m.quantization
	perWord := 32 / q.Bits // elements of a word
	return q.Mode == "affine" && perWord*q.Bits == 32 && rows > 1 && rows <= maxFewRows &&
		m.weight.Dim(0)%fewRowsColumns == 0 && q.GroupSize%perWord == 0
}

// constants returns the constants of the kernel for x (rows, in) and m.
func (f *fewRows) constants(m *matrix, rows int) map[string]int {
	q := m.quantization
	return map[string]int{
		"ROWS": rows, "IN": m.weight.Dim(1) * 32 / q.Bits, "OUT": m.weight.Dim(0),
		"BITS": q.Bits, "GROUP": q.GroupSize,
		"COLUMNS": fewRowsColumns, "SIMDGROUPS": fewRowsSimdgroups,
	}
}

// matmul returns x (rows, in) times m, (rows, out) in x's type.
func (f *fewRows) matmul(s *mlx.Scope, x *mlx.Array, m *matrix) *mlx.Array {
	rows, out := x.Dim(0), m.weight.Dim(0)
	groups := (out + fewRowsColumns*fewRowsSimdgroups - 1) / (fewRowsColumns * fewRowsSimdgroups)
	return s.Launch(f.kernel, mlx.Launch{
		Grid: groups * fewRowsSimdgroups * simdgroup, Threadgroup: fewRowsSimdgroups * simdgroup,
		Shape: []int{rows, out}, Dtype: x.Dtype(),
		Constants: f.constants(m, rows), Types: map[string]mlx.Dtype{"T": x.Dtype()},
	}, x, m.weight, m.scales, m.biases)
}
