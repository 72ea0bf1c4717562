package mlx

// #include "packed_linux.h"
import "C"

import (
	"fmt"
	"math"
	"slices"
)

// packedForms are the forms of numbers, as Form in packed_linux.cpp has them.
var packedForms = []Quantization{{Mode: "affine", Bits: 2}, {Mode: "affine", Bits: 3}, {Mode: "affine", Bits: 4},
	{Mode: "affine", Bits: 5}, {Mode: "affine", Bits: 6}, {Mode: "affine", Bits: 8}, {Mode: "fp4", Bits: 4},
	{Mode: "fp8", Bits: 8}}

// How scales are stored, as Scales in packed_linux.cpp has them.
const (
	scalesFloat32 = iota
	scalesFloat16
	scalesBFloat16
)

// Packs reports whether the thread multiplies packed matrices by an operation of our own: it computes on the
// CPU, and [Options] do not ask for BLAS.
func (t *Thread) Packs() bool { return !t.gpu && !t.blas }

// CanPack reports whether [Scope.Pack] takes matrices that are quantized so.
func CanPack(q Quantization) bool {
	return packedForm(q) >= 0 && q.GroupSize%packedUnit(q.Bits) == 0 &&
		slices.Contains([]int{16, 32, 64, 128}, q.GroupSize)
}

// packedForm returns the form of q's numbers, or -1.
func packedForm(q Quantization) int {
	switch q.Mode {
	case "mxfp4", "nvfp4":
		q.Mode = "fp4"
	case "mxfp8":
		q.Mode = "fp8"
	}
	return slices.Index(packedForms, Quantization{Mode: q.Mode, Bits: q.Bits})
}

// packedUnit returns the fewest numbers of so many bits that take whole words.
func packedUnit(bits int) int {
	unit := 1
	for unit*bits%32 != 0 {
		unit *= 2
	}
	return unit
}

// Pack lays out a quantized matrix w (out, in*bits/32), or a stack (E, out, in*bits/32), for PackedMatMul. scales
// and biases are as in [Scope.Dequantize]; those of the affine mode are float32. If biases is nil there, each bias is
// -2^(bits-1) times its scale, and none is stored. factors (out), or (E, out) of float32 multiply the scales of each
// output; nil has no effect. CanPack takes q. half says that 16 bits may hold scales and biases: Pack waits for them,
// and takes half their memory if they do so exactly.
func (s *Scope) Pack(w, scales, biases, factors *Array, q Quantization, half bool) *Packed {
	p := &Packed{form: packedForm(q), group: q.GroupSize, scales: scalesFloat32, biased: biases != nil}
	if !s.packed(biases, w, scales) {
		p.Blocks = s.failed
		return p
	}
	shape := w.Shape()
	if len(shape) == 2 {
		w, scales = s.ExpandDims(w, 0), s.ExpandDims(scales, 0)
		if biases != nil {
			biases = s.ExpandDims(biases, 0)
		}
		if factors != nil {
			factors = s.ExpandDims(factors, 0)
		}
		shape = w.Shape()
	}
	p.In, p.Out = shape[2]*32/q.Bits, shape[1]
	scales = s.floatScales(scales, q)
	if factors != nil {
		scales = s.Mul(scales, s.ExpandDims(factors, -1))
	}
	scales, biases = s.packHeaders(p, scales, biases, half)
	if s.Err() != nil {
		p.Blocks = s.failed
		return p
	}
	r, how := s.new(), s.operation(0)
	p.Blocks = s.filled(r, &how, C.tandem_pack(&r.c, scales.c, optional(biases), w.c, C.int(scales.Dim(2)),
		C.bool(p.scales != scalesFloat32), &how))
	return p
}

// packHeaders returns the header words (E, out, headers), and a second word of each header for its bias, or nil. If
// half is set and 16 bits hold all numbers exactly, two share a word: the scale and the bias of a group, or the scales
// of two groups.
func (s *Scope) packHeaders(p *Packed, scales, biases *Array, half bool) (words, more *Array) {
	shape := scales.Shape()
	numbers := []*Array{scales}
	if p.biased {
		numbers = append(numbers, biases)
	}
	if half && sharesHeader(p.biased, shape[2]) {
		p.scales = scalesFormat(s, numbers...)
	}
	dtype := map[int]Dtype{scalesFloat16: Float16, scalesBFloat16: BFloat16}[p.scales]
	if dtype == 0 {
		if p.biased {
			more = s.View(biases, Uint32)
		}
		return s.View(scales, Uint32), more
	}
	for i, a := range numbers {
		numbers[i] = s.ExpandDims(s.AsType(a, dtype), -1)
	}
	return s.View(s.Reshape(s.Concat(-1, numbers...), shape[0], shape[1], -1), Uint32), nil
}

// sharesHeader reports whether 16-bit scales and biases of so many groups fill whole words.
func sharesHeader(biased bool, groups int) bool { return biased || groups%2 == 0 }

// scalesFormat returns the smallest format that holds all numbers exactly.
func scalesFormat(s *Scope, arrays ...*Array) int {
	isFloat16, isBFloat16 := true, true
	for _, a := range arrays {
		list, err := Read[float32](s, a)
		if err != nil {
			return scalesFloat32
		}
		for _, x := range list {
			b := math.Float32bits(x)
			isBFloat16 = isBFloat16 && b<<16 == 0
			isFloat16 = isFloat16 && fitsFloat16(b)
		}
	}
	switch {
	case isFloat16:
		return scalesFloat16
	case isBFloat16:
		return scalesBFloat16
	}
	return scalesFloat32
}

// fitsFloat16 reports whether a finite float16 equals the float32 of these bits.
func fitsFloat16(bits uint32) bool {
	exponent := int(bits >> 23 & 0xff)
	lost := 13          // bits of the fraction
	if exponent < 113 { // smaller numbers of float16 have fewer
		lost += 113 - exponent
	}
	return bits<<1 == 0 || exponent <= 142 && lost < 24 && bits<<(32-lost) == 0
}

// floatScales returns the scales of q as float32.
func (s *Scope) floatScales(scales *Array, q Quantization) *Array {
	if q.Mode == "affine" {
		return scales
	}
	table := make([]float32, 256)
	for i := range table {
		if q.Mode == "nvfp4" { // e4m3
			exponent, fraction := i>>3&15, float64(i&7)/8
			if exponent > 0 {
				fraction++
			}
			table[i] = float32(math.Copysign(math.Ldexp(fraction, max(exponent, 1)-7), float64(127-i)))
		} else { // e8m0
			table[i] = float32(math.Ldexp(1, i-127))
		}
	}
	return s.Take(New(s, table, 256), scales, 0)
}

// PackedBytes returns the size in bytes of a matrix that Pack makes, quantized as q. Pack pads out, the number of
// outputs, to a multiple of 16. half: 16 bits hold its scales and biases. biased: it has biases.
func PackedBytes(out, in int, q Quantization, half, biased bool) int64 {
	groups, bytes := in/q.GroupSize, 4
	if biased {
		bytes *= 2
	}
	if half && sharesHeader(biased, groups) {
		bytes /= 2
	}
	return int64(out) * int64(in*q.Bits/8+bytes*groups)
}

// largeBytes returns the bytes of packed matrices, which MLX does not count.
func largeBytes() int64 { return int64(C.tandem_large_bytes()) }

// PackedMatMul returns x (rows, In) @ p^T (rows, Out), float32. It reads the matrix from memory once, and what a
// row gets does not depend on the rows that come with it. Where x is made by FusedRMSNorm or Gated, and not computed
// yet, one operation does both.
func (s *Scope) PackedMatMul(x *Array, p *Packed) *Array { return s.packedMatMul(x, p, 0) }

func (s *Scope) packedMatMul(x *Array, p *Packed, on target) *Array {
	if !s.ready(x, p.Blocks) {
		return s.failed
	}
	if a := x.Shape(); len(a) != 2 || a[1] != p.In || x.Dtype() != Float32 || p.Blocks.Dim(0) != 1 {
		s.Fail(fmt.Errorf("mlx: cannot multiply %v of %v by packed %d x %d", x.Dtype(), a, p.Out, p.In))
		return s.failed
	}
	r, how := s.new(), s.operation(on)
	return s.filled(r, &how, C.tandem_packed_matmul(&r.c, x.c, p.Blocks.c, C.mlx_array{}, p.c(), &how))
}

// PackedGatherMM returns the products (n, k, 1, Out) of [Scope.GatherMM] with the transposes of a stack. x is (n, k
// or 1, 1, In) of float32, and rhs (n, k) has 32-bit integers below E.
func (s *Scope) PackedGatherMM(x *Array, p *Packed, rhs *Array) *Array {
	return s.packedGatherMM(x, p, rhs, 0)
}

func (s *Scope) packedGatherMM(x *Array, p *Packed, rhs *Array, on target) *Array {
	if !s.ready(x, p.Blocks, rhs) {
		return s.failed
	}
	if a, c := x.Shape(), rhs.Shape(); len(a) != 4 || len(c) != 2 || a[0] != c[0] || a[1] != 1 && a[1] != c[1] ||
		a[2] != 1 || a[3] != p.In || x.Dtype() != Float32 || rhs.Dtype() != Uint32 && rhs.Dtype() != Int32 {
		s.Fail(fmt.Errorf("mlx: cannot multiply %v of %v by packed %d x %d, chosen by %v of %v", x.Dtype(), a,
			p.Out, p.In, rhs.Dtype(), c))
		return s.failed
	}
	r, how := s.new(), s.operation(on)
	return s.filled(r, &how, C.tandem_packed_matmul(&r.c, x.c, p.Blocks.c, rhs.c, p.c(), &how))
}

// PackedRows returns the outputs (n, In) of one packed matrix that ids (n) of 32-bit integers name, in float32.
func (s *Scope) PackedRows(p *Packed, ids *Array) *Array {
	if !s.ready(p.Blocks, ids) {
		return s.failed
	}
	if len(ids.Shape()) != 1 || ids.Dtype() != Uint32 && ids.Dtype() != Int32 || p.Blocks.Dim(0) != 1 {
		s.Fail(fmt.Errorf("mlx: cannot take rows %v of %v from packed matrices", ids.Dtype(), ids.Shape()))
		return s.failed
	}
	r, how := s.new(), s.operation(0)
	return s.filled(r, &how, C.tandem_packed_rows(&r.c, ids.c, p.Blocks.c, p.c(), &how))
}

func (p *Packed) c() C.tandem_packed {
	return C.tandem_packed{form: C.int(p.form), scales: C.int(p.scales), biased: C.bool(p.biased), in: C.int(p.In),
		out: C.int(p.Out), first: C.int(p.first), group: C.int(p.group)}
}
