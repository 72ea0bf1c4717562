package mlx

// #include "mlx/c/mlx.h"
import "C"

// Key makes a key of the counter-based generator, which Bits and Normal take (mlx_random_key).
func (s *Scope) Key(seed uint64) *Array {
	if !s.ready() {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_random_key(&r.c, C.uint64_t(seed)))
}

// Bits draws uniform uint32 numbers. The same key and shape give the same numbers
// (mlx_random_bits).
func (s *Scope) Bits(key *Array, shape ...int) *Array {
	if !s.ready(key) {
		return s.failed
	}
	var d dims
	r := s.new()
	return s.done(r, C.mlx_random_bits(&r.c, d.set(shape), C.size_t(len(shape)), 4, key.c,
		s.stream))
}

// Normal draws from the normal distribution with mean loc and standard deviation scale
// (mlx_random_normal).
func (s *Scope) Normal(key *Array, d Dtype, loc, scale float32, shape ...int) *Array {
	if !s.ready(key) {
		return s.failed
	}
	var n dims
	r := s.new()
	return s.done(r, C.mlx_random_normal(&r.c, n.set(shape), C.size_t(len(shape)), C.mlx_dtype(d),
		C.float(loc), C.float(scale), key.c, s.stream))
}
