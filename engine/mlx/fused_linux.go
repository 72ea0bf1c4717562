package mlx

// #include "fused_linux.h"
import "C"

import "fmt"

// Fuses reports whether FusedRMSNorm, Rotate and Gated take x: it is float32 on the CPU.
func (s *Scope) Fuses(x *Array) bool { return !s.t.gpu && x.Dtype() == Float32 }

// FusedRMSNorm is [Scope.RMSNorm] by an operation of our own, with a weight of float32. A weight (heads, 1, D) is one
// for each head of x (1, heads, rows, D). Fuses takes x.
func (s *Scope) FusedRMSNorm(x, weight *Array, eps float32) *Array {
	return s.fusedRMSNorm(x, weight, eps, 0)
}

func (s *Scope) fusedRMSNorm(x, weight *Array, eps float32, on target) *Array {
	if !s.ready(x) || weight != nil && !s.ready(weight) {
		return s.failed
	}
	a := x.Shape()
	ok := len(a) > 0 && len(a) <= 4 && x.Dtype() == Float32
	if ok && weight != nil {
		d := a[len(a)-1]
		w := weight.Shape()
		ok = weight.Dtype() == Float32 && (len(w) == 1 && w[0] == d ||
			len(w) == 3 && len(a) == 4 && w[0] == a[1] && w[1] == 1 && w[2] == d)
	}
	if !ok {
		s.Fail(fmt.Errorf("mlx: cannot normalize %v of %v", x.Dtype(), a))
		return s.failed
	}
	r, how := s.new(), s.operation(on)
	return s.filled(r, &how, C.tandem_rms_norm(&r.c, x.c, optional(weight), C.float(eps), &how))
}

// Rotate returns x (1, heads, n, D) with the first dims elements of each row turned: x cos + y sin with tables (n,
// dims), where y has the two halves of x in each other's place. Fuses takes x.
func (s *Scope) Rotate(x, cos, sin *Array) *Array { return s.rotate(x, cos, sin, 0) }

func (s *Scope) rotate(x, cos, sin *Array, on target) *Array {
	if !s.ready(x, cos, sin) {
		return s.failed
	}
	a, b, c := x.Shape(), cos.Shape(), sin.Shape()
	if len(a) != 4 || len(b) != 2 || len(c) != 2 || b[0] != a[2] || b[1] > a[3] || b[1]%2 != 0 || b[0] != c[0] ||
		b[1] != c[1] || x.Dtype() != Float32 || cos.Dtype() != Float32 || sin.Dtype() != Float32 {
		s.Fail(fmt.Errorf("mlx: cannot rotate %v of %v by tables %v and %v", x.Dtype(), a, b, c))
		return s.failed
	}
	r, how := s.new(), s.operation(on)
	return s.filled(r, &how, C.tandem_rotate(&r.c, x.c, cos.c, sin.c, &how))
}

// Gated returns gate up / (1 + 2^(gate (a + b gate^2))) for x (..., 2n), gate before up: (..., n). Fuses takes x.
func (s *Scope) Gated(x *Array, a, b float32) *Array { return s.gated(x, a, b, 0) }

func (s *Scope) gated(x *Array, a, b float32, on target) *Array {
	if !s.ready(x) {
		return s.failed
	}
	if shape := x.Shape(); len(shape) < 1 || len(shape) > 4 || shape[len(shape)-1]%2 != 0 || x.Dtype() != Float32 {
		s.Fail(fmt.Errorf("mlx: cannot gate %v of %v", x.Dtype(), shape))
		return s.failed
	}
	r, how := s.new(), s.operation(on)
	return s.filled(r, &how, C.tandem_gated(&r.c, x.c, C.float(a), C.float(b), &how))
}
