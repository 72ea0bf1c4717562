//go:build !linux

package mlx

// Fuses reports false: models compute on the GPU, or by MLX's own operations.
func (*Scope) Fuses(x *Array) bool { return false }

// FusedRMSNorm is for Linux, where models compute on the CPU.
func (*Scope) FusedRMSNorm(x, weight *Array, eps float32) *Array {
	panic("mlx: no fused operations on this system")
}

// FusedAdd returns x + y.
func (s *Scope) FusedAdd(x, y *Array) *Array { return s.Add(x, y) }

// Rotate is for Linux, where models compute on the CPU.
func (*Scope) Rotate(x, cos, sin *Array) *Array { panic("mlx: no fused operations on this system") }

// RotatedHeads is for Linux, where models compute on the CPU.
func (*Scope) RotatedHeads(x *Array, h HeadSplit) (q, k, v *Array) {
	panic("mlx: no fused operations on this system")
}

// Gated is for Linux, where models compute on the CPU.
func (*Scope) Gated(x *Array, a, b float32) *Array { panic("mlx: no fused operations on this system") }
