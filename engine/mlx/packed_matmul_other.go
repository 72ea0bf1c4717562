//go:build !linux

package mlx

// PackedMatMulTakes reports false, as TiledMatMulFits does.
func PackedMatMulTakes(Quantization) bool { return false }

// PackedMatMulFits reports false, as TiledMatMulFits does.
func (*Scope) PackedMatMulFits(x, scales *Array, q Quantization) bool { return false }

// PackedMatMul is for Linux, where models compute on the CPU.
func (*Scope) PackedMatMul(x, w, scales, biases *Array, q Quantization) *Array {
	panic("mlx: no packed product on this system")
}
