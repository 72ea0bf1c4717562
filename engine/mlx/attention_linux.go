package mlx

// #cgo CXXFLAGS: -std=c++20 -O3 -Wno-psabi -I${SRCDIR}/.deps/0.32.2-0.7.0/include
// #include "attention_linux.h"
import "C"

import "fmt"

// TiledAttentionFits reports whether TiledAttention takes values v.
func TiledAttentionFits(v *Array) bool { return v.Dim(3)%16 == 0 }

// TiledAttention is [Scope.Attention] in float32 on the CPU, by an operation of our own; causal is
// that of [Scope.CausalAttention]. What a query gets does not depend on the queries that come with
// it. mask (L, S) is bool or nil, and v fits TiledAttentionFits. It refuses arrays of other types,
// because it reads them without a look at the type.
func (s *Scope) TiledAttention(q, k, v *Array, scale float32, mask, sinks *Array,
	causal bool) *Array {
	if !s.ready(q, k, v) || mask != nil && !s.ready(mask) || sinks != nil && !s.ready(sinks) {
		return s.dead
	}
	for _, a := range []*Array{q, k, v, sinks} {
		if a != nil && a.Dtype() != Float32 {
			s.Fail(fmt.Errorf("mlx: tiled attention takes float32, not %v", a.Dtype()))
			return s.dead
		}
	}
	if mask != nil && mask.Dtype() != Bool {
		s.Fail(fmt.Errorf("mlx: the mask of tiled attention is bool, not %v", mask.Dtype()))
		return s.dead
	}
	r := s.new()
	var why [256]C.char
	return s.filled(r, why[:], C.tandem_attention(&r.c, q.c, k.c, v.c, optional(mask),
		optional(sinks), C.float(scale), C.bool(causal), s.stream, &why[0], C.size_t(len(why))))
}
