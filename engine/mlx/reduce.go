package mlx

// #include "mlx/c/mlx.h"
import "C"

// Sum returns the sums along an axis. keepDims leaves the axis with extent 1 (mlx_sum_axis).
func (s *Scope) Sum(a *Array, axis int, keepDims bool) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_sum_axis(&r.c, a.c, C.int(axis), C.bool(keepDims), s.stream))
}

// Max returns the largest elements along an axis. keepDims leaves the axis with extent 1
// (mlx_max_axis).
func (s *Scope) Max(a *Array, axis int, keepDims bool) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_max_axis(&r.c, a.c, C.int(axis), C.bool(keepDims), s.stream))
}

// Cumsum returns inclusive running sums along an axis (mlx_cumsum_axis).
func (s *Scope) Cumsum(a *Array, axis int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_cumsum_axis(&r.c, a.c, C.int(axis), false, true, C.mlx_optional_dtype{},
		s.stream))
}

// Softmax returns e^a divided by its sum along an axis, accumulated in float32 (mlx_softmax_axis,
// precise).
func (s *Scope) Softmax(a *Array, axis int) *Array { return s.softmax(a, axis, true) }

// SoftmaxInType is Softmax with all steps in the type of a, for models that were trained or are
// compared so.
func (s *Scope) SoftmaxInType(a *Array, axis int) *Array { return s.softmax(a, axis, false) }

func (s *Scope) softmax(a *Array, axis int, precise bool) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_softmax_axis(&r.c, a.c, C.int(axis), C.bool(precise), s.stream))
}

// LogSumExp returns log(sum(e^a)) along an axis. keepDims leaves the axis with extent 1
// (mlx_logsumexp_axis).
func (s *Scope) LogSumExp(a *Array, axis int, keepDims bool) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_logsumexp_axis(&r.c, a.c, C.int(axis), C.bool(keepDims), s.stream))
}
