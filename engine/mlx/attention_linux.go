package mlx

// #cgo CXXFLAGS: -std=c++20 -O3 -Wno-psabi -I${SRCDIR}/.deps/0.32.4-0.7.0/include
// #include "attention_linux.h"
import "C"

import (
	"cmp"
	"fmt"
	"slices"
)

// TiledAttentionFits reports whether TiledAttention takes values v.
func TiledAttentionFits(v *Array) bool { return v.Dim(3)%16 == 0 }

// QuantizedAttentionFits reports whether TiledAttention takes keys and values that are packed so.
func QuantizedAttentionFits(keys, values RowFormat) bool {
	return keys.Dtype == Float32 && values.Dtype == Float32
}

// TiledAttention is [Scope.Attention] in float32 on the CPU, by an operation of our own, with the heads of a query side
// by side: (L, H D). What a query gets does not depend on the queries that come with it. v fits TiledAttentionFits. It
// refuses other types and shapes, because it reads arrays without a look at either.
func (s *Scope) TiledAttention(q, k, v *Array, opts AttentionOptions) *Array {
	return s.tiledAttention(q, k, v, opts, 0)
}

func (s *Scope) tiledAttention(q, k, v *Array, opts AttentionOptions, on target) *Array {
	mask, sinks := opts.Mask, opts.Sinks
	if !s.ready(q, k, v) || mask != nil && !s.ready(mask) || sinks != nil && !s.ready(sinks) {
		return s.failed
	}
	if err := cmp.Or(checkTiledTypes(q, k, v, opts), checkTiledShapes(q, k, v, opts)); err != nil {
		s.Fail(err)
		return s.failed
	}
	r, how := s.new(), s.operation(on)
	in := C.tandem_attention_input{q: q.c, k: k.c, v: v.c, mask: optional(mask),
		sinks: optional(sinks), scale: C.float(opts.Scale), causal: C.bool(opts.Causal),
		values: C.int(v.Dim(3))}
	if p := opts.Values; p != nil {
		in.values, in.bits = C.int(p.Dim), C.int(p.Bits)
		in.key_group, in.value_group = C.int(opts.Keys.GroupSize), C.int(p.GroupSize)
	}
	return s.filled(r, &how, C.tandem_attention(&r.c, &in, &how))
}

func checkTiledTypes(q, k, v *Array, opts AttentionOptions) error {
	floats := []*Array{q, k, v, opts.Sinks}
	if opts.Keys != nil {
		floats = []*Array{q, opts.Sinks}
		for _, a := range []*Array{k, v} {
			if a.Dtype() != Uint32 {
				return fmt.Errorf("mlx: packed rows are words of uint32, not %v", a.Dtype())
			}
		}
	}
	for _, a := range floats {
		if a != nil && a.Dtype() != Float32 {
			return fmt.Errorf("mlx: tiled attention takes float32, not %v", a.Dtype())
		}
	}
	if opts.Mask != nil && opts.Mask.Dtype() != Bool {
		return fmt.Errorf("mlx: the mask of tiled attention is bool, not %v", opts.Mask.Dtype())
	}
	return nil
}

func checkTiledShapes(q, k, v *Array, opts AttentionOptions) error {
	a, b, c := q.Shape(), k.Shape(), v.Shape()
	if err := opts.unpackShapes(b, c); err != nil {
		return err
	}
	if len(a) != 4 || len(b) != 4 || len(c) != 4 || a[0] != 1 || b[0] != 1 || c[0] != 1 ||
		b[1] < 1 || a[1]%b[1] != 0 || b[1] != c[1] || b[2] != c[2] || a[3] != b[3] ||
		c[3]%16 != 0 || opts.Causal && a[2] > b[2] {
		return fmt.Errorf("mlx: tiled attention can't attend keys %v and values %v with queries %v",
			b, c, a)
	}
	if m := opts.Mask; m != nil && !slices.Equal(m.Shape(), []int{a[2], b[2]}) {
		return fmt.Errorf("mlx: tiled attention of %d rows by %d keys can't take a mask of %v",
			a[2], b[2], m.Shape())
	}
	if n := opts.Sinks; n != nil && !slices.Equal(n.Shape(), a[1:2]) {
		return fmt.Errorf("mlx: tiled attention of %d heads can't take sinks of %v", a[1], n.Shape())
	}
	return nil
}

// unpackShapes replaces the last extent of packed keys and values by that of their elements.
func (o AttentionOptions) unpackShapes(k, v []int) error {
	if o.Keys == nil && o.Values == nil {
		return nil
	}
	if o.Keys == nil || o.Values == nil || o.Keys.Bits != o.Values.Bits {
		return fmt.Errorf("mlx: keys and values of tiled attention have to be packed alike")
	}
	for _, x := range []struct {
		p     *RowFormat
		shape []int
	}{{o.Keys, k}, {o.Values, v}} {
		if p := x.p; p.Bits != 4 && p.Bits != 8 || p.GroupSize < 32 || p.GroupSize%32 != 0 ||
			p.Dim < 1 || p.Dim%p.GroupSize != 0 || p.Dtype != Float32 {
			return fmt.Errorf("mlx: tiled attention cannot read rows packed as %+v", *p)
		}
		elements, scales := x.p.Words()
		if len(x.shape) != 4 || x.shape[3] != elements+scales {
			return fmt.Errorf("mlx: rows %v are not packed as %+v", x.shape, *x.p)
		}
		x.shape[3] = x.p.Dim
	}
	return nil
}
