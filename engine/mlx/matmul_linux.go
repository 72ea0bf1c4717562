package mlx

// #include "matmul_linux.h"
import "C"

import "fmt"

// A multiplier is one of the kernels that the processor can run. 0 is the fastest.
type multiplier C.int

// multipliers returns how many there are.
func multipliers() multiplier { return multiplier(C.tandem_multipliers()) }

// TiledMatMulFits reports whether TiledMatMul and TiledGatherMM take x and w: both are float32 on
// the CPU, and [Options] do not ask for BLAS.
func (s *Scope) TiledMatMulFits(x, w *Array) bool {
	return !s.t.gpu && !s.t.blas && x.Dtype() == Float32 && w.Dtype() == Float32
}

// TiledMatMul returns x (rows, in) @ w (in, out), by an operation of our own. What a row gets does not
// depend on the rows that come with it. x and w fit TiledMatMulFits.
func (s *Scope) TiledMatMul(x, w *Array) *Array { return s.tiledMatMul(x, w, 0) }

func (s *Scope) tiledMatMul(x, w *Array, kernel multiplier) *Array {
	if !s.ready(x, w) {
		return s.dead
	}
	if a, b := x.Shape(), w.Shape(); len(a) != 2 || len(b) != 2 || a[1] != b[0] ||
		x.Dtype() != Float32 || w.Dtype() != Float32 {
		s.Fail(fmt.Errorf("mlx: cannot multiply %v of %v by %v of %v", x.Dtype(), a, w.Dtype(), b))
		return s.dead
	}
	r := s.new()
	var why [256]C.char
	return s.filled(r, why[:], C.tandem_matmul(&r.c, x.c, w.c, C.int(kernel), s.stream, &why[0],
		C.size_t(len(why))))
}

// TiledGatherMM is [Scope.GatherMM] for x (n, k or 1, 1, in), w (E, in, out) and rhs (n, k) of 32-bit
// integers below E, as TiledMatMul is for two arrays: (n, k, 1, out).
func (s *Scope) TiledGatherMM(x, w, rhs *Array) *Array { return s.tiledGatherMM(x, w, rhs, 0) }

func (s *Scope) tiledGatherMM(x, w, rhs *Array, kernel multiplier) *Array {
	if !s.ready(x, w, rhs) {
		return s.dead
	}
	if a, b, c := x.Shape(), w.Shape(), rhs.Shape(); len(a) != 4 || len(b) != 3 || len(c) != 2 ||
		a[0] != c[0] || a[1] != 1 && a[1] != c[1] || a[2] != 1 || a[3] != b[1] ||
		x.Dtype() != Float32 || w.Dtype() != Float32 ||
		rhs.Dtype() != Uint32 && rhs.Dtype() != Int32 {
		s.Fail(fmt.Errorf("mlx: cannot multiply %v of %v by %v of %v, chosen by %v of %v",
			x.Dtype(), a, w.Dtype(), b, rhs.Dtype(), c))
		return s.dead
	}
	r := s.new()
	var why [256]C.char
	return s.filled(r, why[:], C.tandem_gather_matmul(&r.c, x.c, w.c, rhs.c, C.int(kernel),
		s.stream, &why[0], C.size_t(len(why))))
}

// filled returns r, which an operation of our own has made, or notes why there is none.
func (s *Scope) filled(r *Array, why []C.char, failed C.int) *Array {
	if failed != 0 {
		s.Fail(&Error{Message: C.GoString(&why[0])})
		return s.dead
	}
	return s.done(r, 0)
}
