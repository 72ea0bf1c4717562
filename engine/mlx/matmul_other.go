//go:build !linux

package mlx

// TiledMatMulFits reports false: models compute on the GPU, or by MLX's own products.
func (*Scope) TiledMatMulFits(x, w *Array) bool { return false }

// TiledMatMul is for Linux, where models compute on the CPU.
func (*Scope) TiledMatMul(x, w *Array) *Array {
	panic("mlx: no tiled products on this system")
}

// TiledGatherMM is for Linux, where models compute on the CPU.
func (*Scope) TiledGatherMM(x, w, rhs *Array) *Array {
	panic("mlx: no tiled products on this system")
}
