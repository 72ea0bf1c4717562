package mlx

// #include "mlx/c/mlx.h"
import "C"

// Take gathers whole slices of a along an axis; indices are int32 or uint32 (mlx_take_axis).
func (s *Scope) Take(a, indices *Array, axis int) *Array {
	if !s.ready(a, indices) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_take_axis(&r.c, a.c, indices.c, C.int(axis), s.stream))
}

// TakeAlong selects one element per position along an axis; indices has as many axes as a
// (mlx_take_along_axis).
func (s *Scope) TakeAlong(a, indices *Array, axis int) *Array {
	if !s.ready(a, indices) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_take_along_axis(&r.c, a.c, indices.c, C.int(axis), s.stream))
}

// PutAlong returns a with values written at indices along an axis (mlx_put_along_axis).
func (s *Scope) PutAlong(a, indices, values *Array, axis int) *Array {
	if !s.ready(a, indices, values) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_put_along_axis(&r.c, a.c, indices.c, values.c, C.int(axis), s.stream))
}

// ScatterAdd returns a with values added at indices along an axis; repeated indices add up
// (mlx_scatter_add_axis).
func (s *Scope) ScatterAdd(a, indices, values *Array, axis int) *Array {
	if !s.ready(a, indices, values) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_scatter_add_axis(&r.c, a.c, indices.c, values.c, C.int(axis), s.stream))
}

// Argmax returns the index of the largest element along an axis, the lowest index on a tie, as
// uint32. The result does not have the axis (mlx_argmax_axis).
func (s *Scope) Argmax(a *Array, axis int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_argmax_axis(&r.c, a.c, C.int(axis), false, s.stream))
}

// Argsort returns the indices that sort an axis ascending, as uint32 (mlx_argsort_axis).
func (s *Scope) Argsort(a *Array, axis int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_argsort_axis(&r.c, a.c, C.int(axis), s.stream))
}

// Argpartition returns indices, as uint32, that put into position kth the element that sorting
// would put there, and the smaller ones before it (mlx_argpartition_axis).
func (s *Scope) Argpartition(a *Array, kth, axis int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_argpartition_axis(&r.c, a.c, C.int(kth), C.int(axis), s.stream))
}

// Sort returns a sorted ascending along an axis (mlx_sort_axis).
func (s *Scope) Sort(a *Array, axis int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_sort_axis(&r.c, a.c, C.int(axis), s.stream))
}
