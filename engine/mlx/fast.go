package mlx

// #include <stdlib.h>
// #include "mlx/c/mlx.h"
import "C"

// RMSNorm scales the last axis of x to a root mean square of 1, then by weight (D), which may be
// nil (mlx_fast_rms_norm).
func (s *Scope) RMSNorm(x, weight *Array, eps float32) *Array {
	w := C.mlx_array{}
	if weight != nil {
		if !s.ready(weight) {
			return s.failed
		}
		w = weight.c
	}
	if !s.ready(x) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_fast_rms_norm(&r.c, x.c, w, C.float(eps), s.stream))
}

// A Rope describes a rotary embedding. Freqs, if set, replaces Base. It holds one wavelength per
// pair of dimensions (base^(2i/dims), scaled), not inverse frequencies.
type Rope struct {
	Dims        int  // of the head that rotate, the first ones
	Traditional bool // pairs are neighbours, not halves apart
	Base        float32
	Scale       float32 // of the position
	Freqs       *Array  // (Dims/2) float32, kept by its owner, or nil
}

// Rope rotates x (..., n, head_dim), whose rows are at positions offset, offset+1, ...
// (mlx_fast_rope).
func (s *Scope) Rope(x *Array, p Rope, offset int) *Array {
	base, freqs := C.mlx_optional_float{value: C.float(p.Base), has_value: true}, C.mlx_array{}
	if p.Freqs != nil {
		if !s.ready(p.Freqs) {
			return s.failed
		}
		base, freqs = C.mlx_optional_float{}, p.Freqs.c
	}
	if !s.ready(x) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_fast_rope(&r.c, x.c, C.int(p.Dims), C.bool(p.Traditional), base,
		C.float(p.Scale), C.int(offset), freqs, s.stream))
}

var (
	maskNone   = C.CString("")
	maskCausal = C.CString("causal")
	maskArray  = C.CString("array")
)

// Attention returns the scaled dot product attention (B, H, L, D) of q (B, H, L, D) over k, v (B,
// KV, S, D). mask (L, S) is bool, true = attend, or additive; nil attends all rows. sinks (H) holds
// one more score of each head, which belongs to no value; nil = none
// (mlx_fast_scaled_dot_product_attention).
func (s *Scope) Attention(q, k, v *Array, scale float32, mask, sinks *Array) *Array {
	if mask == nil {
		return s.attention(q, k, v, scale, maskNone, C.mlx_array{}, sinks)
	}
	if !s.ready(mask) {
		return s.failed
	}
	return s.attention(q, k, v, scale, maskArray, mask.c, sinks)
}

// CausalAttention is Attention where query row i of L attends the first S-L+i+1 keys.
func (s *Scope) CausalAttention(q, k, v *Array, scale float32, sinks *Array) *Array {
	return s.attention(q, k, v, scale, maskCausal, C.mlx_array{}, sinks)
}

// AttentionOptions are those of [Scope.TiledAttention].
type AttentionOptions struct {
	Scale  float32
	Mask   *Array // (L, S) bool, true = attend; nil = attend all
	Sinks  *Array // (H), as of [Scope.Attention], or nil
	Causal bool   // query row i of L attends the first S-L+i+1 keys

	// Keys and Values say how k and v are packed. Both are packed, or neither: then both are nil.
	Keys, Values *RowFormat
}

func (s *Scope) attention(q, k, v *Array, scale float32, mode *C.char, mask C.mlx_array,
	sinks *Array) *Array {
	if !s.ready(q, k, v) {
		return s.failed
	}
	var more C.mlx_array
	if sinks != nil {
		if !s.ready(sinks) {
			return s.failed
		}
		more = sinks.c
	}
	r := s.new()
	return s.done(r, C.mlx_fast_scaled_dot_product_attention(&r.c, q.c, k.c, v.c, C.float(scale),
		mode, mask, more, false, s.stream))
}

// A HeadSplit says how [Scope.RotatedHeads] divides rows into heads of Dim elements, at most MaxHeadDim.
type HeadSplit struct {
	Q, KV, Dim int
	Norm       *Array  // (Q+KV, 1, Dim) float32, for queries and keys; or nil
	Eps        float32 // of the norm
	Cos, Sin   *Array  // (rows, dims) float32, for queries and keys, see [Scope.Rotate]; or nil
}

// MaxHeadDim is the most elements of a head that RotatedHeads takes.
const MaxHeadDim = 512
