//go:build !linux

package mlx

// Packs reports false: models compute on the GPU, or by MLX's own products.
func (*Thread) Packs() bool { return false }

// CanPack reports false, as Packs does.
func CanPack(Quantization) bool { return false }

// PackedBytes returns 0, as nothing is packed.
func PackedBytes(out, in int, q Quantization, half, biased bool) int64 { return 0 }

func largeBytes() int64 { return 0 }

// Pack is for Linux, where models compute on the CPU.
func (*Scope) Pack(w, scales, biases, factors *Array, q Quantization, half bool) *Packed {
	panic("mlx: no packed products on this system")
}

// PackedMatMul is for Linux, where models compute on the CPU.
func (*Scope) PackedMatMul(x *Array, p *Packed) *Array {
	panic("mlx: no packed products on this system")
}

// PackedGatherMM is for Linux, where models compute on the CPU.
func (*Scope) PackedGatherMM(x *Array, p *Packed, rhs *Array) *Array {
	panic("mlx: no packed products on this system")
}

// PackedRows is for Linux, where models compute on the CPU.
func (*Scope) PackedRows(p *Packed, ids *Array) *Array {
	panic("mlx: no packed products on this system")
}
