package mlx

// #include "matmul_linux.h"
import "C"

import "fmt"

// TiledMatMulFits reports whether TiledMatMul and TiledGatherMM take x and w: both are float32 on
// the CPU, and [Options] do not ask for BLAS.
func (s *Scope) TiledMatMulFits(x, w *Array) bool {
	return !s.t.gpu && !s.t.blas && x.Dtype() == Float32 && w.Dtype() == Float32
}

// TiledMatMul returns x (rows, in) @ w (in, out), by an operation of our own. What a row gets does not
// depend on the rows that come with it. x and w fit TiledMatMulFits.
func (s *Scope) TiledMatMul(x, w *Array) *Array {
	if !s.ready(x, w) {
		return s.dead
	}
	if a, b := x.Shape(), w.Shape(); len(a) != 2 || len(b) != 2 || a[1] != b[0] {
		s.Fail(fmt.Errorf("mlx: cannot multiply %v by %v", a, b))
		return s.dead
	}
	r := s.new()
	var why [256]C.char
	return s.filled(r, why[:], C.tandem_matmul(&r.c, x.c, w.c, s.stream, &why[0],
		C.size_t(len(why))))
}

// TiledGatherMM is [Scope.GatherMM] for x (n, k or 1, 1, in), w (E, in, out) and rhs (n, k) of 32-bit
// integers, as TiledMatMul is for two arrays: (n, k, 1, out).
func (s *Scope) TiledGatherMM(x, w, rhs *Array) *Array {
	if !s.ready(x, w, rhs) {
		return s.dead
	}
	if a, b, c := x.Shape(), w.Shape(), rhs.Shape(); len(a) != 4 || len(b) != 3 || len(c) != 2 ||
		a[0] != c[0] || a[1] != 1 && a[1] != c[1] || a[2] != 1 || a[3] != b[1] {
		s.Fail(fmt.Errorf("mlx: cannot multiply %v by %v of %v", a, c, b))
		return s.dead
	}
	r := s.new()
	var why [256]C.char
	return s.filled(r, why[:], C.tandem_gather_matmul(&r.c, x.c, w.c, rhs.c, s.stream, &why[0],
		C.size_t(len(why))))
}

// filled returns r, which an operation of our own has made, or notes why there is none.
func (s *Scope) filled(r *Array, why []C.char, failed C.int) *Array {
	if failed != 0 {
		s.Fail(&Error{Message: C.GoString(&why[0])})
		return s.dead
	}
	return s.done(r, 0)
}
