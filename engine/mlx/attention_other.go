//go:build !linux

package mlx

// TiledAttentionFits reports whether TiledAttention takes values v.
func TiledAttentionFits(*Array) bool { return false }

// QuantizedAttentionFits reports whether TiledAttention takes keys and values that are packed so.
func QuantizedAttentionFits(keys, values RowFormat) bool { return false }

// TiledAttention is for Linux, where models compute on the CPU.
func (*Scope) TiledAttention(q, k, v *Array, opts AttentionOptions) *Array {
	panic("mlx: no tiled attention on this system")
}
