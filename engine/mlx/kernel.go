package mlx

// #include <stdlib.h>
// #include "mlx/c/mlx.h"
import "C"

import "unsafe"

// A KernelSource is a computation written in the Metal shading language.
type KernelSource struct {
	Name    string
	Inputs  []string // names of the arrays in Body, as device pointers
	Outputs []string
	Body    string // of the function; MLX writes its head
}

// A Kernel is a compiled KernelSource. It is used on the thread that made it, which must have a
// GPU.
type Kernel struct{ c C.mlx_fast_metal_kernel }

// NewKernel makes a kernel, which the caller must Free (mlx_fast_metal_kernel_new). Metal compiles
// it at its first evaluation. On a thread without a GPU the scope fails.
func (s *Scope) NewKernel(source KernelSource) *Kernel {
	if !s.ready() {
		return &Kernel{}
	}
	name, body, header := C.CString(source.Name), C.CString(source.Body), C.CString("")
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(body))
	defer C.free(unsafe.Pointer(header))
	inputs, outputs := s.strings(source.Inputs), s.strings(source.Outputs)
	defer C.mlx_vector_string_free(inputs)
	defer C.mlx_vector_string_free(outputs)
	if s.err != nil {
		return &Kernel{}
	}
	k := &Kernel{C.mlx_fast_metal_kernel_new(name, inputs, outputs, body, header, true, false)}
	if k.c.ctx == nil {
		s.untimed(1)
	}
	return k
}

// Free releases the kernel.
func (k *Kernel) Free() {
	if k.c.ctx != nil {
		C.mlx_fast_metal_kernel_free(k.c)
		k.c.ctx = nil
	}
}

// A Launch says how a kernel with one output runs.
type Launch struct {
	Grid        int // threads in total
	Threadgroup int // threads that run together
	Shape       []int
	Dtype       Dtype
	Constants   map[string]int   // of Body, known when it is compiled
	Types       map[string]Dtype // the same
}

// Launch returns the output of a kernel for its inputs (mlx_fast_metal_kernel_apply).
func (s *Scope) Launch(k *Kernel, l Launch, inputs ...*Array) *Array {
	if !s.ready(inputs...) {
		return s.failed
	}
	config := C.mlx_fast_metal_kernel_config_new()
	if config.ctx == nil {
		s.untimed(1)
		return s.failed
	}
	defer C.mlx_fast_metal_kernel_config_free(config)
	shape := make([]C.int, len(l.Shape))
	for i, n := range l.Shape {
		shape[i] = C.int(n)
	}
	s.untimed(C.mlx_fast_metal_kernel_config_add_output_arg(config, unsafe.SliceData(shape),
		C.size_t(len(shape)), C.mlx_dtype(l.Dtype)))
	s.untimed(C.mlx_fast_metal_kernel_config_set_grid(config, C.int(l.Grid), 1, 1))
	s.untimed(C.mlx_fast_metal_kernel_config_set_thread_group(config, C.int(l.Threadgroup), 1, 1))
	for name, value := range l.Constants {
		c := C.CString(name)
		s.untimed(C.mlx_fast_metal_kernel_config_add_template_arg_int(config, c, C.int(value)))
		C.free(unsafe.Pointer(c))
	}
	for name, value := range l.Types {
		c := C.CString(name)
		s.untimed(C.mlx_fast_metal_kernel_config_add_template_arg_dtype(config, c,
			C.mlx_dtype(value)))
		C.free(unsafe.Pointer(c))
	}
	if s.err != nil {
		return s.failed
	}
	in := s.vector(inputs)
	defer C.mlx_vector_array_free(in)
	out := C.mlx_vector_array_new()
	if s.status(C.mlx_fast_metal_kernel_apply(&out, k.c, in, config, s.stream)); s.err != nil {
		C.mlx_vector_array_free(out)
		return s.failed
	}
	return s.unpack(out, 1)[0]
}

// strings makes a vector, which the caller frees.
func (s *Scope) strings(list []string) C.mlx_vector_string {
	v := C.mlx_vector_string_new()
	if v.ctx == nil {
		s.untimed(1)
		return v
	}
	for _, text := range list {
		c := C.CString(text)
		s.untimed(C.mlx_vector_string_append_value(v, c))
		C.free(unsafe.Pointer(c))
	}
	return v
}
