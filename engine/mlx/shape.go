package mlx

// #include "mlx/c/mlx.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Reshape gives the elements a new shape; one extent may be -1 (mlx_reshape).
func (s *Scope) Reshape(a *Array, shape ...int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	var d dims
	r := s.new()
	return s.done(r, C.mlx_reshape(&r.c, a.c, d.set(shape), C.size_t(len(shape)), s.stream))
}

// View reads the elements as those of another type, along the last axis (mlx_view).
func (s *Scope) View(a *Array, d Dtype) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_view(&r.c, a.c, C.mlx_dtype(d), s.stream))
}

// Transpose permutes the axes (mlx_transpose_axes).
func (s *Scope) Transpose(a *Array, axes ...int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	var d dims
	r := s.new()
	return s.done(r, C.mlx_transpose_axes(&r.c, a.c, d.set(axes), C.size_t(len(axes)), s.stream))
}

// ExpandDims inserts an axis of extent 1 (mlx_expand_dims).
func (s *Scope) ExpandDims(a *Array, axis int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_expand_dims(&r.c, a.c, C.int(axis), s.stream))
}

// BroadcastTo repeats extents of 1 without copying (mlx_broadcast_to).
func (s *Scope) BroadcastTo(a *Array, shape ...int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	var d dims
	r := s.new()
	return s.done(r, C.mlx_broadcast_to(&r.c, a.c, d.set(shape), C.size_t(len(shape)), s.stream))
}

// AsStrided returns a view of a's elements. Its first element is the one at offset, and the next one
// along an axis lies the axis's stride further on. A stride may be negative or 0 (mlx_as_strided). MLX
// would read beyond the elements, so such a view is refused.
func (s *Scope) AsStrided(a *Array, offset int, shape, strides []int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	var d dims
	steps := make([]C.int64_t, len(strides))
	first, last := offset, offset
	for i, extent := range shape[:min(len(shape), len(strides))] {
		steps[i] = C.int64_t(strides[i])
		far := strides[i] * max(extent-1, 0)
		first, last = first+min(far, 0), last+max(far, 0)
	}
	if len(shape) != len(strides) || first < 0 || last >= a.Size() {
		s.Fail(fmt.Errorf("mlx: a view of elements %d to %d of %d", first, last, a.Size()))
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_as_strided(&r.c, a.c, d.set(shape), C.size_t(len(shape)),
		unsafe.SliceData(steps), C.size_t(len(steps)), C.size_t(offset), s.stream))
}

// Concat joins arrays along an axis (mlx_concatenate_axis). It returns a single array itself.
func (s *Scope) Concat(axis int, arrays ...*Array) *Array {
	if len(arrays) == 1 {
		return arrays[0]
	}
	if !s.ready(arrays...) {
		return s.failed
	}
	v := s.vector(arrays)
	defer C.mlx_vector_array_free(v)
	r := s.new()
	return s.done(r, C.mlx_concatenate_axis(&r.c, v, C.int(axis), s.stream))
}

// Split cuts a into n equal parts along an axis (mlx_split).
func (s *Scope) Split(a *Array, n, axis int) []*Array {
	if !s.ready(a) {
		return s.failedList(n)
	}
	v := C.mlx_vector_array_new()
	s.status(C.mlx_split(&v, a.c, C.int(n), C.int(axis), s.stream))
	return s.unpack(v, n)
}

// Slice returns the view [start, stop) along one axis; the other axes stay whole. Both bounds count
// from the front (mlx_slice).
func (s *Scope) Slice(a *Array, axis, start, stop int) *Array {
	if !s.ready(a) {
		return s.failed
	}
	lo, hi, ones, n := window(a, axis, start, stop)
	r := s.new()
	return s.done(r, C.mlx_slice(&r.c, a.c, &lo[0], n, &hi[0], n, &ones[0], n, s.stream))
}

// SliceUpdate returns src with [start, start+extent of update) along one axis replaced. MLX writes
// the buffer of src in place if nothing else refers to it (mlx_slice_update).
func (s *Scope) SliceUpdate(src, update *Array, axis, start int) *Array {
	if !s.ready(src, update) {
		return s.failed
	}
	lo, hi, ones, n := window(src, axis, start, start+update.Dim(axis))
	r := s.new()
	return s.done(r, C.mlx_slice_update(&r.c, src.c, update.c, &lo[0], n, &hi[0], n, &ones[0], n,
		s.stream))
}

// window returns the bounds of a slice along one axis of a.
func window(a *Array, axis, start, stop int) (lo, hi, ones dims, n C.size_t) {
	shape := a.Shape()
	hi.set(shape)
	for i := range shape {
		ones[i] = 1
	}
	if axis < 0 {
		axis += len(shape)
	}
	lo[axis], hi[axis] = C.int(start), C.int(stop)
	return lo, hi, ones, C.size_t(len(shape))
}

// Contiguous returns a in row order; it copies only if a is not (mlx_contiguous).
func (s *Scope) Contiguous(a *Array) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_contiguous(&r.c, a.c, false, s.stream))
}

// Copy returns a with a buffer of its own, once evaluated (mlx_copy).
func (s *Scope) Copy(a *Array) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_copy(&r.c, a.c, s.stream))
}

// Zeros returns an array of zeros (mlx_zeros).
func (s *Scope) Zeros(d Dtype, shape ...int) *Array {
	if !s.ready() {
		return s.failed
	}
	var n dims
	r := s.new()
	return s.done(r, C.mlx_zeros(&r.c, n.set(shape), C.size_t(len(shape)), C.mlx_dtype(d),
		s.stream))
}

// Arange returns start, start+1, ... below stop (mlx_arange).
func (s *Scope) Arange(start, stop int, d Dtype) *Array {
	if !s.ready() {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_arange(&r.c, C.double(start), C.double(stop), 1, C.mlx_dtype(d),
		s.stream))
}

func (s *Scope) failedList(n int) []*Array {
	out := make([]*Array, n)
	for i := range out {
		out[i] = s.failed
	}
	return out
}
