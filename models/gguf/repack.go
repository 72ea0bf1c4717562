package gguf

import (
	"encoding/binary"
	"errors"
)

// A packing is the form in which MLX holds a packed kind.
type packing struct {
	mode  string
	bits  int
	group int
	scale string // type of scales and biases, as safetensors spells it

	// weights packs the elements of whole blocks.
	weights func(dst, blocks []byte)

	// scales writes the scale and the bias of each group of whole blocks. It reports false if a
	// scale is not finite, or if its bias is more than the type holds.
	scales func(scales, biases, blocks []byte) bool
}

// packings holds the packed kinds. Any other kind is a plain type.
var packings = map[kind]packing{
	q4_0: {"affine", 4, 32, "F16", nibbles(18, 2), centred(18, 3)},
	q4_1: {"affine", 4, 32, "F16", nibbles(20, 4), scaleAndMin(20)},
	q8_0: {"affine", 8, 32, "F16", signedBytes, centred(34, 7)},
}

// plainTypes holds the other kinds, by safetensors' names.
var plainTypes = map[kind]string{f32: "F32", f16: "F16", bf16: "BF16"}

var errScale = errors.New(
	"it has a scale beyond float16, so it is damaged; download the file again")

// groupSize is how many elements share a scale.
const groupSize = 32

// nibbles packs blocks of 32 elements of 4 bits, which begin at byte from of a block: first the low
// halves of 16 bytes, then the high halves. MLX has two neighbours in a byte.
func nibbles(size, from int) func(dst, blocks []byte) {
	return func(dst, blocks []byte) {
		for len(blocks) >= size && len(dst) >= groupSize/2 {
			a := binary.LittleEndian.Uint64(blocks[from:])
			b := binary.LittleEndian.Uint64(blocks[from+8:])
			binary.LittleEndian.PutUint64(dst, pairLow(a)|pairLow(b)<<32)
			binary.LittleEndian.PutUint64(dst[8:], pairLow(a>>4)|pairLow(b>>4)<<32)
			blocks, dst = blocks[size:], dst[groupSize/2:]
		}
	}
}

// pairLow joins the low halves of eight bytes to 32 bits.
func pairLow(x uint64) uint64 {
	x &= 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return (x | x>>16) & 0x00000000ffffffff
}

// signedBytes turns the signed elements of Q8_0 into unsigned ones, 128 larger.
func signedBytes(dst, blocks []byte) {
	const size = 34
	for len(blocks) >= size && len(dst) >= groupSize {
		for i := 0; i < groupSize; i += 8 {
			x := binary.LittleEndian.Uint64(blocks[2+i:])
			binary.LittleEndian.PutUint64(dst[i:], x^0x8080808080808080)
		}
		blocks, dst = blocks[size:], dst[groupSize:]
	}
}

// centred writes the scales of blocks that begin with one. Their elements are centred around
// 2^shift, so the bias is -2^shift scales.
func centred(size int, shift uint16) func(scales, biases, blocks []byte) bool {
	return func(scales, biases, blocks []byte) bool {
		ok := true
		for i := 0; len(blocks) >= size; i += 2 {
			d := binary.LittleEndian.Uint16(blocks)
			bias, fits := halfTimes(d, shift)
			ok = ok && fits
			binary.LittleEndian.PutUint16(scales[i:], d)
			binary.LittleEndian.PutUint16(biases[i:], bias^0x8000)
			blocks = blocks[size:]
		}
		return ok
	}
}

// halfTimes returns 2^shift times a float16, and whether that is finite.
func halfTimes(h, shift uint16) (uint16, bool) {
	sign, exponent, fraction := h&0x8000, h>>10&0x1f, h&0x3ff
	switch {
	case exponent == 0x1f:
		return h, false
	case exponent == 0: // 0, or so small that the fraction has no leading one
		for ; shift > 0 && fraction&0x400 == 0; shift-- {
			fraction <<= 1
		}
		if fraction&0x400 == 0 {
			return sign | fraction, true
		}
		exponent, fraction = 1, fraction&0x3ff
	}
	exponent += shift
	return sign | exponent<<10 | fraction, exponent < 0x1f
}

// scaleAndMin writes the scales of blocks that begin with a scale and the least value.
func scaleAndMin(size int) func(scales, biases, blocks []byte) bool {
	return func(scales, biases, blocks []byte) bool {
		ok := true
		for i := 0; len(blocks) >= size; i += 2 {
			d, m := binary.LittleEndian.Uint16(blocks), binary.LittleEndian.Uint16(blocks[2:])
			ok = ok && d&0x7c00 != 0x7c00 && m&0x7c00 != 0x7c00
			binary.LittleEndian.PutUint16(scales[i:], d)
			binary.LittleEndian.PutUint16(biases[i:], m)
			blocks = blocks[size:]
		}
		return ok
	}
}
