package mlx

/*
#include <stdlib.h>
#include <string.h>
#include "mlx/c/mlx.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// An Array is a handle on a node of an MLX graph: a shape, a type, and data once evaluated. It
// belongs to the Scope that made it, or after Keep to the caller of Keep. It is used on the thread
// only.
type Array struct {
	c      C.mlx_array
	scope  *Scope // nil when kept or freed
	index  int    // in scope.arrays
	marked bool   // to survive a release
}

// Free releases a kept array (mlx_array_free). MLX frees the buffer when nothing else refers to it.
// A second Free, or one of a nil array, does nothing.
func (a *Array) Free() {
	if a == nil || a.c.ctx == nil {
		return
	}
	// Freeing only drops a reference; its status is always zero.
	C.mlx_array_free(a.c)
	a.c.ctx = nil
}

// Shape returns the extent of each axis, nil after a failure.
func (a *Array) Shape() []int {
	if a.c.ctx == nil {
		return nil
	}
	n := int(C.mlx_array_ndim(a.c))
	if n == 0 {
		return []int{}
	}
	shape := make([]int, n)
	for i, d := range unsafe.Slice(C.mlx_array_shape(a.c), n) {
		shape[i] = int(d)
	}
	return shape
}

// Dim returns the extent of one axis; negative axes count from the end. It returns 0 after a
// failure and for an axis that the array does not have.
func (a *Array) Dim(axis int) int {
	shape := a.Shape()
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 0 || axis >= len(shape) {
		return 0
	}
	return shape[axis]
}

// Dtype returns the element type, Bool after a failure.
func (a *Array) Dtype() Dtype {
	if a.c.ctx == nil {
		return Bool
	}
	return Dtype(C.mlx_array_dtype(a.c))
}

// Size returns the number of elements.
func (a *Array) Size() int {
	if a.c.ctx == nil {
		return 0
	}
	return int(C.mlx_array_size(a.c))
}

// Bytes returns the size of the elements in bytes.
func (a *Array) Bytes() int64 { return int64(a.Size()) * int64(a.Dtype().Size()) }

// Number lists the Go types that New copies from and Read copies to.
type Number interface {
	~bool | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int8 | ~int16 | ~int32 | ~int64 | ~float32 | ~float64
}

func dtypeOf[T Number]() Dtype {
	var v T
	switch any(v).(type) {
	case bool:
		return Bool
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case float32:
		return Float32
	}
	return Float64
}

// New copies data, in row order, into an array of the given shape (mlx_array_new_data). The scope
// fails if the shape does not have len(data) elements.
func New[T Number](s *Scope, data []T, shape ...int) *Array {
	size := 1
	for _, d := range shape {
		size *= d
	}
	if size != len(data) {
		s.Fail(fmt.Errorf("mlx: %d elements do not fill shape %v", len(data), shape))
	}
	if !s.ready() {
		return s.failed
	}
	var dims dims
	a := s.new()
	a.c = C.mlx_array_new_data(unsafe.Pointer(unsafe.SliceData(data)), dims.set(shape),
		C.int(len(shape)), C.mlx_dtype(dtypeOf[T]()))
	return s.made(a)
}

// Scalar makes an array without axes of type d. v is rounded to float32 first.
func (s *Scope) Scalar(v float64, d Dtype) *Array {
	if !s.ready() {
		return s.failed
	}
	a := s.new()
	a.c = C.mlx_array_new_float32(C.float(v))
	if a = s.made(a); d != Float32 {
		a = s.AsType(a, d)
	}
	return a
}

// made checks an array whose C constructor returns a handle instead of a status.
func (s *Scope) made(a *Array) *Array {
	if a.c.ctx == nil {
		return s.done(a, 1)
	}
	return s.done(a, 0)
}

// Read waits for a and copies its elements out, in row order. T must be the array's type exactly;
// convert bfloat16 and float16 by AsType first. An array that is not contiguous is refused. A read
// of an array that is not available counts as a sync.
func Read[T Number](s *Scope, a *Array) ([]T, error) {
	p, err := s.data(a)
	if err != nil {
		return nil, err
	}
	if a.Dtype() != dtypeOf[T]() {
		s.Fail(fmt.Errorf("mlx: reading %s as %s", a.Dtype(), dtypeOf[T]()))
		return nil, s.err
	}
	out := make([]T, a.Size())
	copy(out, unsafe.Slice((*T)(p), len(out)))
	return out, nil
}

// data waits until a is available and returns its first byte.
func (s *Scope) data(a *Array) (unsafe.Pointer, error) {
	if !s.ready(a) {
		return nil, s.err
	}
	var ok C.bool
	if !s.status(C._mlx_array_is_available(&ok, a.c)) {
		return nil, s.err
	}
	// The first read after a dispatch counts even if the device was quicker: the count must not
	// depend on the clock.
	if !bool(ok) || s.t.unread {
		s.t.syncs.Add(1)
		s.t.unread = false
	}
	if !bool(ok) {
		if !s.ready() || !s.status(C.mlx_array_eval(a.c)) {
			return nil, s.err
		}
	}
	if s.untimed(C._mlx_array_is_row_contiguous(&ok, a.c)); s.err == nil && !bool(ok) {
		s.Fail(fmt.Errorf("mlx: reading an array that is not contiguous; use Contiguous first"))
	}
	// The typed accessors only differ in the type of the pointer.
	p := unsafe.Pointer(C.mlx_array_data_uint8(a.c))
	if s.err == nil && p == nil && a.Size() > 0 {
		s.Fail(&Error{Message: "array has no data"})
	}
	return p, s.err
}

// dims holds a shape, or a list of axes, as C ints.
type dims [maxDims]C.int

const maxDims = 8

// set fills d and returns its first element. It panics beyond maxDims. MLX has no such bound; no
// model here uses more axes.
func (d *dims) set(v []int) *C.int {
	if len(v) > maxDims {
		panic(fmt.Sprintf("mlx: %d dimensions, at most %d", len(v), maxDims))
	}
	for i, x := range v {
		d[i] = C.int(x)
	}
	return &d[0]
}
