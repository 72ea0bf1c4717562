package mlx

// #cgo CXXFLAGS: -std=c++20 -O3 -Wno-psabi -I${SRCDIR}/.deps/0.32.2-0.7.0/include
// #include "attention_linux.h"
import "C"

import "fmt"

// TiledAttentionFits reports whether TiledAttention takes values v.
func TiledAttentionFits(v *Array) bool { return v.Dim(3)%16 == 0 }

// TiledAttention is [Scope.Attention] in float32 on the CPU, by an operation of our own. What a query
// gets does not depend on the queries that come with it. v fits TiledAttentionFits. It refuses arrays
// of other types, because it reads them without a look at the type.
func (s *Scope) TiledAttention(q, k, v *Array, opts AttentionOptions) *Array {
	return s.tiledAttention(q, k, v, opts, 0)
}

func (s *Scope) tiledAttention(q, k, v *Array, opts AttentionOptions, on target) *Array {
	mask, sinks := opts.Mask, opts.Sinks
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
	r, how := s.new(), s.operation(on)
	in := C.tandem_attention_input{q: q.c, k: k.c, v: v.c, mask: optional(mask),
		sinks: optional(sinks), scale: C.float(opts.Scale), causal: C.bool(opts.Causal)}
	return s.filled(r, &how, C.tandem_attention(&r.c, &in, &how))
}
