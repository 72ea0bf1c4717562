package gguf

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A kind is how the elements of a tensor are stored, as the format numbers it.
type kind uint32

const (
	f32   kind = 0
	f16   kind = 1
	q4_0  kind = 2
	q4_1  kind = 3
	q5_0  kind = 6
	q5_1  kind = 7
	q8_0  kind = 8
	q2_k  kind = 10
	q3_k  kind = 11
	q4_k  kind = 12
	q5_k  kind = 13
	q6_k  kind = 14
	iq2xx kind = 16
	iq2xs kind = 17
	iq3xx kind = 18
	iq4nl kind = 20
	iq3s  kind = 21
	iq2s  kind = 22
	iq4xs kind = 23
	bf16  kind = 30
	mxfp4 kind = 39
)

// kinds holds every kind that can be read: how many elements a block has and in how many bytes.
var kinds = map[kind]struct{ block, bytes int }{
	f32: {1, 4}, f16: {1, 2}, bf16: {1, 2},
	q4_0: {32, 2 + 16}, q4_1: {32, 2 + 2 + 16}, q8_0: {32, 2 + 32},
	q5_0: {32, 2 + 4 + 16}, q5_1: {32, 2 + 2 + 4 + 16},
	q2_k: {256, 16 + 64 + 2 + 2}, q3_k: {256, 32 + 64 + 12 + 2},
	q6_k: {256, 128 + 64 + 16 + 2}, q4_k: {256, 2 + 2 + 12 + 128}, q5_k: {256, 2 + 2 + 12 + 32 + 128},
	iq4nl: {32, 2 + 16}, mxfp4: {32, 1 + 16},
	iq4xs: {256, 2 + 2 + 4 + 128}, iq3s: {256, 2 + 64 + 8 + 32 + 4}, iq3xx: {256, 2 + 64 + 32},
	iq2s: {256, 2 + 32 + 32 + 8 + 8}, iq2xs: {256, 2 + 64 + 8}, iq2xx: {256, 2 + 64},
}

// kindNames holds the names of all kinds, also of kinds that can't be read.
var kindNames = map[kind]string{
	0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1",
	10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K",
	16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S",
	22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
	29: "IQ1_M", 30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4", 41: "Q1_0",
}

// block returns how many elements are packed together, or 0 for a kind that can't be read.
func (k kind) block() int { return kinds[k].block }

// bytes returns the bytes of a block.
func (k kind) bytes() int { return kinds[k].bytes }

// isCentred reports whether the element that stands for 0 is 2^(bits-1), in the form that leaves weights as they are.
func (k kind) isCentred() bool {
	return packings[k].centred || k == q6_k // zeroOf(kind) in superblock.h
}

// String returns the name of a kind.
func (k kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("the unknown kind %d", uint32(k))
}

func supportedKinds() string {
	var names []string
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}

// fileTypes holds the names of general.file_type, as llama.cpp numbers them.
var fileTypes = map[int]string{
	0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
	11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
	17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
	23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M",
	30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE",
}

// fileType returns the name of general.file_type. If it is missing or unknown, it returns the kind
// that has the most bytes, a packed one before a plain one.
func (m *model) fileType() string {
	n, err := m.header.metadata.uint("general.file_type", -1, math.MaxInt32)
	if name := fileTypes[n]; name != "" && err == nil {
		return name
	}
	bytes := map[kind]int64{}
	for _, t := range m.header.tensors {
		bytes[t.kind] += t.bytes
	}
	rank := func(a, b kind) int {
		_, x := plainTypes[a]
		_, y := plainTypes[b]
		switch {
		case x && !y:
			return -1
		case y && !x:
			return 1
		}
		return cmp.Or(cmp.Compare(bytes[a], bytes[b]), cmp.Compare(a, b))
	}
	return slices.MaxFunc(slices.Collect(maps.Keys(bytes)), rank).String()
}
