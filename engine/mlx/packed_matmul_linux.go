package mlx

// #include "packed_matmul_linux.h"
import "C"

import (
	"fmt"
	"slices"
)

// PackedMatMulTakes reports whether PackedMatMul reads matrices that are packed so.
func PackedMatMulTakes(q Quantization) bool {
	return q.Mode == "affine" && (q.Bits == 4 || q.Bits == 8) && q.GroupSize > 0 && q.GroupSize%32 == 0
}

// PackedMatMulFits reports whether PackedMatMul takes x and a matrix with such scales: both
// are float32 on the CPU, and [Options] do not ask for BLAS.
func (s *Scope) PackedMatMulFits(x, scales *Array, q Quantization) bool {
	return !s.t.gpu && !s.t.blas && x.Dtype() == Float32 && scales.Dtype() == Float32 && PackedMatMulTakes(q)
}

// PackedMatMul returns the products (rows, out) of [Scope.QuantizedMatMul], by an operation of
// our own. It reads the matrix from memory once, and what a row gets does not depend on the rows that
// come with it. x, scales and q fit PackedMatMulFits. Each row of w lies in one piece.
func (s *Scope) PackedMatMul(x, w, scales, biases *Array, q Quantization) *Array {
	return s.packedMatMul(x, w, scales, biases, q, 0)
}

func (s *Scope) packedMatMul(x, w, scales, biases *Array, q Quantization, on target) *Array {
	if !s.ready(x, w, scales, biases) {
		return s.failed
	}
	a, b, c := x.Shape(), w.Shape(), scales.Shape()
	if len(a) != 2 || len(b) != 2 || !PackedMatMulTakes(q) || a[1] != b[1]*32/q.Bits ||
		!slices.Equal(c, []int{b[0], a[1] / q.GroupSize}) || a[1]%q.GroupSize != 0 ||
		!slices.Equal(c, biases.Shape()) || x.Dtype() != Float32 || w.Dtype() != Uint32 ||
		scales.Dtype() != Float32 || biases.Dtype() != Float32 {
		s.Fail(fmt.Errorf("mlx: cannot multiply %v of %v by %v of %v, packed as %v with scales of %v",
			x.Dtype(), a, w.Dtype(), b, q, c))
		return s.failed
	}
	r := s.new()
	how := s.operation(on)
	return s.filled(r, &how, C.tandem_packed_matmul(&r.c, x.c, w.c, scales.c, biases.c, C.int(q.Bits),
		C.int(q.GroupSize), &how))
}
