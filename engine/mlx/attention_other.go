//go:build !linux

package mlx

// TiledAttentionFits reports whether TiledAttention takes values v.
func TiledAttentionFits(*Array) bool { return false }

// TiledAttention is for Linux, where models compute on the CPU.
func (s *Scope) TiledAttention(q, k, v *Array, scale float32, mask, sinks *Array,
	causal bool) *Array {
	panic("mlx: no tiled attention on this system")
}
