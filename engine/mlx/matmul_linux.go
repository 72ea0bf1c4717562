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
func (s *Scope) TiledMatMul(x, w *Array) *Array { return s.tiledMatMul(x, w, 0) }

func (s *Scope) tiledMatMul(x, w *Array, on target) *Array {
	if !s.ready(x, w) {
		return s.failed
	}
	if a, b := x.Shape(), w.Shape(); len(a) != 2 || len(b) != 2 || a[1] != b[0] ||
		x.Dtype() != Float32 || w.Dtype() != Float32 {
		s.Fail(fmt.Errorf("mlx: cannot multiply %v of %v by %v of %v", x.Dtype(), a, w.Dtype(), b))
		return s.failed
	}
	r := s.new()
	how := s.operation(on)
	return s.filled(r, &how, C.tandem_matmul(&r.c, x.c, w.c, &how))
}

// TiledGatherMM returns the products (n, k, 1, out) of [Scope.GatherMM], by an operation of our own.
// x is (n, k or 1, 1, in), w is (E, in, out), and rhs (n, k) has 32-bit integers below E. x and w fit
// TiledMatMulFits.
func (s *Scope) TiledGatherMM(x, w, rhs *Array) *Array { return s.tiledGatherMM(x, w, rhs, 0) }

func (s *Scope) tiledGatherMM(x, w, rhs *Array, on target) *Array {
	if !s.ready(x, w, rhs) {
		return s.failed
	}
	if a, b, c := x.Shape(), w.Shape(), rhs.Shape(); len(a) != 4 || len(b) != 3 || len(c) != 2 ||
		a[0] != c[0] || a[1] != 1 && a[1] != c[1] || a[2] != 1 || a[3] != b[1] ||
		x.Dtype() != Float32 || w.Dtype() != Float32 ||
		rhs.Dtype() != Uint32 && rhs.Dtype() != Int32 {
		s.Fail(fmt.Errorf("mlx: cannot multiply %v of %v by %v of %v, chosen by %v of %v",
			x.Dtype(), a, w.Dtype(), b, rhs.Dtype(), c))
		return s.failed
	}
	r := s.new()
	how := s.operation(on)
	return s.filled(r, &how, C.tandem_gather_matmul(&r.c, x.c, w.c, rhs.c, &how))
}
