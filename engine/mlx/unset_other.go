//go:build !linux

package mlx

/*
#include <stdlib.h>
#include "mlx/c/mlx.h"

static mlx_array tandem_new_managed(void* data, const int* shape, int dim, mlx_dtype dtype) {
	return mlx_array_new_data_managed(data, shape, dim, dtype, free);
}

// tandem_page_alloc returns whole pages, which Metal can use without a copy.
static void* tandem_page_alloc(size_t bytes, size_t page) {
	void* p = NULL;
	size_t n = (bytes + page - 1) / page * page;
	return posix_memalign(&p, page, n > 0 ? n : page) == 0 ? p : NULL;
}
*/
import "C"

import (
	"fmt"
	"os"
)

// load reads a tensor into memory of its own. On Metal the array uses that memory; on the CPU MLX
// copies it.
func (t *Tensors) load(s *Scope, info TensorInfo, dtype Dtype) *Array {
	p := C.tandem_page_alloc(C.size_t(info.Bytes), C.size_t(os.Getpagesize()))
	if p == nil {
		s.Fail(fmt.Errorf("no memory for the %d bytes of tensor %q", info.Bytes, info.Name))
		return s.failed
	}
	if !t.fill(s, info, p) {
		C.free(p)
		return s.failed
	}
	var d dims
	a := s.new()
	a.c = C.tandem_new_managed(p, d.set(info.Shape), C.int(len(info.Shape)), C.mlx_dtype(dtype))
	return s.made(a)
}
