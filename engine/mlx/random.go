package mlx

// #include "mlx/c/mlx.h"
import "C"

// Key makes a key for the counter-based generator (mlx_random_key).
func (s *Scope) Key(seed uint64) *Array {
	if !s.ready() {
		return s.dead
	}
	r := s.new()
	return s.done(r, C.mlx_random_key(&r.c, C.uint64_t(seed)))
}

// Gumbel draws standard Gumbel noise; the same key and shape give the same
// noise (mlx_random_gumbel).
func (s *Scope) Gumbel(key *Array, shape ...int) *Array {
	if !s.ready(key) {
		return s.dead
	}
	var d dims
	r := s.new()
	return s.done(r, C.mlx_random_gumbel(&r.c, d.set(shape), C.size_t(len(shape)), C.MLX_FLOAT32, key.c, s.stream))
}

// Uniform draws float32 numbers from [0, 1) (mlx_random_uniform).
func (s *Scope) Uniform(key *Array, shape ...int) *Array {
	lo, hi := s.Scalar(0, Float32), s.Scalar(1, Float32)
	if !s.ready(key, lo, hi) {
		return s.dead
	}
	var d dims
	r := s.new()
	return s.done(r, C.mlx_random_uniform(&r.c, lo.c, hi.c, d.set(shape), C.size_t(len(shape)), C.MLX_FLOAT32, key.c, s.stream))
}

// Normal draws from the normal distribution (mlx_random_normal).
func (s *Scope) Normal(key *Array, d Dtype, loc, scale float32, shape ...int) *Array {
	if !s.ready(key) {
		return s.dead
	}
	var n dims
	r := s.new()
	return s.done(r, C.mlx_random_normal(&r.c, n.set(shape), C.size_t(len(shape)), C.mlx_dtype(d), C.float(loc), C.float(scale), key.c, s.stream))
}
