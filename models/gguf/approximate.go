package gguf

// #cgo CFLAGS: -Wno-psabi
// #include "approximate.h"
import "C"

import "unsafe"

// Q2_K, Q3_K, Q6_K, IQ2_XS and IQ2_S have a scale for each 16 elements, and MLX's affine form has no groups so
// small. Their groups are joined, with more bits for each element, so that the steps of a joined
// group fall close to the steps of its parts.

// super is how many elements a block of these kinds has.
const super = 256

// An affineFormat is a size of elements and of groups.
type affineFormat struct {
	bits, group int
	scale       string
}

// approximations holds the formats of each kind that is approximated: the fewest bits first, and of
// these the fewest scales.
var approximations = map[kind][]affineFormat{
	q2_k: {{4, 64, "F16"}, {4, 32, "F16"}, {5, 32, "F16"}, {5, 32, "F32"}, {8, 32, "F32"}},
	q3_k: {{5, 64, "F16"}, {5, 32, "F16"}, {5, 32, "F32"}, {8, 32, "F32"}},
	q6_k: {{8, 64, "F16"}, {8, 32, "F16"}, {8, 32, "F32"}},

	iq2xs: {{8, 64, "F16"}, {8, 32, "F16"}, {8, 32, "F32"}},
	iq2s:  {{8, 64, "F16"}, {8, 32, "F16"}, {8, 32, "F32"}},
}

// exactFormats holds the format of each of these kinds that leaves its groups, and so its weights, as they are.
// [mlx.Scope.Pack] takes it.
var exactFormats = map[kind]affineFormat{
	q2_k: {2, 16, "F32"}, q3_k: {4, 16, "F32"}, q6_k: {6, 16, "F32"}, iq2xs: {8, 16, "F32"}, iq2s: {8, 16, "F32"},
}

// isApproximated reports whether a kind has such formats.
func (k kind) isApproximated() bool { return len(approximations[k]) > 0 }

// packing returns the packing of a format.
func (f affineFormat) packing(k kind) *packing {
	return &packing{mode: "affine", bits: f.bits, group: f.group, scale: f.scale,
		pack: func(to packed, blocks []byte) bool { return f.pack(k, to, blocks, fastest) }}
}

// A kernel is one build of the code in C. All give the same bytes.
type kernel int

const (
	fastest  kernel = iota // that this processor runs
	portable               // that every processor runs
)

// pack packs whole blocks, as a packing does. C gets no more memory than is sliced here.
func (f affineFormat) pack(k kind, to packed, blocks []byte, by kernel) bool {
	b, n := wholeBlocks(k, blocks, by)
	if to.weights != nil {
		b.weights = memory(to.weights[:n*super*f.bits/8])
	}
	if to.scales != nil {
		side := n * super / f.group * scaleBytes[f.scale]
		b.scales, b.biases = memory(to.scales[:side]), memory(to.biases[:side])
	}
	if to.tally != nil {
		b.measured = 1
	}
	l := C.tandem_approximate(b, C.tandem_form{bits: C.int(f.bits), group: C.int(f.group),
		scaleBytes: C.int(scaleBytes[f.scale])})
	if to.tally != nil {
		to.tally.join(tally{float64(l.squares), float64(l.steps), float64(l.most), n * super})
	}
	return l.finite != 0
}

// wholeBlocks returns the whole blocks of some bytes, for C, and how many there are.
func wholeBlocks(k kind, blocks []byte, by kernel) (b C.tandem_blocks, n int) {
	n = len(blocks) / k.bytes()
	blocks = blocks[:n*k.bytes()]
	switch k {
	case iq2xs:
		blocks = iq2xsGrid.evenBlocks(blocks)
	case iq2s:
		blocks = iq2sGrid.evenBlocks(blocks)
	}
	return C.tandem_blocks{kind: C.int(k), portable: C.int(by), count: C.size_t(n), blocks: memory(blocks)}, n
}

func memory(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(b)) }
