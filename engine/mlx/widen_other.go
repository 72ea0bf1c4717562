//go:build !linux

package mlx

// Widen returns a, of float16 or bfloat16, in float32.
func (s *Scope) Widen(a *Array) *Array { return s.AsType(a, Float32) }
