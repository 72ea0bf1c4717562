package mlx

// #include "fused_linux.h"
import "C"

import (
	"fmt"
	"slices"
)

// Fuses reports whether FusedRMSNorm, Rotate, RotatedHeads and Gated take x: it is float32 on the CPU.
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

// FusedAdd returns x + y, where x may be a vector for each row of y. Where y is made by PackedMatMul or FusedRMSNorm,
// and not computed yet, one operation does both.
func (s *Scope) FusedAdd(x, y *Array) *Array {
	if !s.ready(x, y) {
		return s.failed
	}
	r, how := s.new(), s.operation(0)
	return s.filled(r, &how, C.tandem_sum(&r.c, x.c, y.c, &how))
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

// RotatedHeads returns the queries (1, Q, rows, Dim), keys and values (1, KV, rows, Dim) of the rows x (rows, (Q+2KV)
// Dim). Queries and keys are normalized, as by FusedRMSNorm, and rotated. Fuses takes x.
func (s *Scope) RotatedHeads(x *Array, h HeadSplit) (q, k, v *Array) { return s.rotatedHeads(x, h, 0) }

func (s *Scope) rotatedHeads(x *Array, h HeadSplit, on target) (q, k, v *Array) {
	inputs := []*Array{x}
	for _, a := range []*Array{h.Norm, h.Cos, h.Sin} {
		if a != nil {
			inputs = append(inputs, a)
		}
	}
	if !s.ready(inputs...) {
		return s.failed, s.failed, s.failed
	}
	if err := h.check(x); err != nil {
		s.Fail(err)
		return s.failed, s.failed, s.failed
	}
	how := s.operation(on)
	in := C.tandem_heads{x: x.c, norm: optional(h.Norm), cos: optional(h.Cos), sin: optional(h.Sin),
		eps: C.float(h.Eps), queries: C.int(h.Q), keys: C.int(h.KV), dim: C.int(h.Dim)}
	var out [3]C.mlx_array
	if C.tandem_rotated_heads(&out[0], &in, &how) != 0 {
		s.Fail(&Error{Message: C.GoString(&how.why[0])})
		return s.failed, s.failed, s.failed
	}
	q, k, v = s.new(), s.new(), s.new()
	q.c, k.c, v.c = out[0], out[1], out[2]
	s.status(0)
	return q, k, v
}

// check refuses other shapes and types: the operation reads arrays without a look at either.
func (h *HeadSplit) check(x *Array) error {
	a := x.Shape()
	ok := len(a) == 2 && h.Q > 0 && h.KV > 0 && h.Dim > 0 && h.Dim <= C.tandem_max_head && a[1] == (h.Q+2*h.KV)*h.Dim &&
		x.Dtype() == Float32 && (h.Cos == nil) == (h.Sin == nil)
	if ok && h.Norm != nil {
		ok = h.Norm.Dtype() == Float32 && slices.Equal(h.Norm.Shape(), []int{h.Q + h.KV, 1, h.Dim})
	}
	if ok && h.Cos != nil {
		b := h.Cos.Shape()
		ok = len(b) == 2 && b[0] == a[0] && b[1] <= h.Dim && b[1]%2 == 0 && slices.Equal(b, h.Sin.Shape()) &&
			h.Cos.Dtype() == Float32 && h.Sin.Dtype() == Float32
	}
	if !ok {
		return fmt.Errorf("mlx: cannot split %v of %v into %d and %d heads of %d", x.Dtype(), a, h.Q, h.KV, h.Dim)
	}
	return nil
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
