package mlx

/*
#include "mlx/c/mlx.h"

extern int tandemTrace(mlx_vector_array* out, mlx_vector_array in, void* payload);
extern void tandemDrop(void* payload);

static int tandem_trace(mlx_vector_array* out, const mlx_vector_array in, void* payload) {
	return tandemTrace(out, in, payload);
}

// The payload is a cgo.Handle, an integer that never was a pointer.
static mlx_closure tandem_closure(uintptr_t handle) {
	return mlx_closure_new_func_payload(tandem_trace, (void*)handle, tandemDrop);
}
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"
)

// A Func is a function of arrays that MLX traces once and then runs as fused
// kernels. It is used on the thread only.
type Func struct {
	closure C.mlx_closure
	outputs int
}

type traced struct {
	t       *Thread
	fn      func(*Scope, []*Array) []*Array
	outputs int
}

// Compile prepares fn, which makes the given number of outputs from its inputs
// by operations of the scope it is handed, and must not read or evaluate. One
// trace serves all shapes if shapeless is set; then fn must not look at shapes
// (mlx_compile).
func (s *Scope) Compile(outputs int, shapeless bool, fn func(*Scope, []*Array) []*Array) (*Func, error) {
	if !s.ready() {
		return nil, s.err
	}
	h := cgo.NewHandle(&traced{t: s.t, fn: fn, outputs: outputs})
	plain := C.tandem_closure(C.uintptr_t(h))
	defer C.mlx_closure_free(plain) // the compiled closure holds its own reference
	f := &Func{closure: C.mlx_closure_new(), outputs: outputs}
	s.status(C.mlx_compile(&f.closure, plain, C.bool(shapeless)))
	return f, s.err
}

// Call applies f.
func (f *Func) Call(s *Scope, inputs ...*Array) []*Array {
	if !s.ready(inputs...) {
		return s.deadList(f.outputs)
	}
	in := s.vector(inputs)
	defer C.mlx_vector_array_free(in)
	out := C.mlx_vector_array_new()
	s.status(C.mlx_closure_apply(&out, f.closure, in))
	return s.unpack(out, f.outputs)
}

// Free releases the traced function.
func (f *Func) Free() {
	if f != nil && f.closure.ctx != nil {
		C.mlx_closure_free(f.closure)
		f.closure.ctx = nil
	}
}

//export tandemTrace
func tandemTrace(out *C.mlx_vector_array, in C.mlx_vector_array, payload unsafe.Pointer) (status C.int) {
	tr := cgo.Handle(uintptr(payload)).Value().(*traced)
	s := newScope(tr.t)
	defer s.close()
	defer func() {
		// A panic must not cross C++ frames.
		if v := recover(); v != nil {
			status = 1
		}
	}()
	inputs := s.unpack(copyVector(in), int(C.mlx_vector_array_size(in)))
	results := tr.fn(s, inputs)
	if len(results) != tr.outputs {
		s.Fail(fmt.Errorf("mlx: compiled function made %d outputs, not %d", len(results), tr.outputs))
	}
	if !s.ready(results...) {
		return 1
	}
	v := s.vector(results)
	defer C.mlx_vector_array_free(v)
	return C.mlx_vector_array_set(out, v)
}

// copyVector makes a vector with the same elements that the caller frees.
func copyVector(v C.mlx_vector_array) C.mlx_vector_array {
	c := C.mlx_vector_array_new()
	C.mlx_vector_array_set(&c, v)
	return c
}

//export tandemDrop
func tandemDrop(payload unsafe.Pointer) {
	cgo.Handle(uintptr(payload)).Delete()
}
