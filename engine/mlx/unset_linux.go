package mlx

// #include "unset_linux.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// load reads a tensor into the memory of a new array.
func (t *Tensors) load(s *Scope, info TensorInfo, dtype Dtype) *Array {
	var d dims
	var why [256]C.char
	var data unsafe.Pointer
	a := s.new()
	if C.tandem_new_unset(&a.c, d.set(info.Shape), C.int(len(info.Shape)), C.mlx_dtype(dtype),
		&data, &why[0], C.size_t(len(why))) != 0 {
		s.Fail(&Error{Message: C.GoString(&why[0])})
		return s.failed
	}
	a = s.made(a)
	if a.Bytes() != info.Bytes {
		s.Fail(fmt.Errorf("tensor %q has %d bytes, not %d", info.Name, info.Bytes, a.Bytes()))
		return s.failed
	}
	if !t.fill(s, info, data) {
		return s.failed
	}
	return a
}
