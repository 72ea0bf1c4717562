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

	// pack packs whole blocks. It reports false if a scale is not finite, or if its bias is more
	// than the type holds.
	pack func(to packed, blocks []byte) bool

	centred bool // the bias of each group is -2^(bits-1) times its scale
}

// centredPacking returns the packing of blocks of so many bytes, which begin with the scale.
func centredPacking(bits, size int, weights func(dst, blocks []byte)) packing {
	return packing{"affine", bits, group, "F16", exact(weights, centred(size, uint16(bits-1))), true}
}

// packed is where packed blocks go: elements, the lowest bits first, and scale and bias of each
// group. Either may be nil: the elements, or scales and biases together. Modes without biases leave
// them alone. tally, if not nil, gets the errors of an approximation.
type packed struct {
	weights, scales, biases []byte
	tally                   *tally
}

// exact returns a pack of two that leave each weight as it is.
func exact(weights func(dst, blocks []byte),
	scales func(scales, biases, blocks []byte) bool) func(packed, []byte) bool {
	return func(to packed, blocks []byte) bool {
		if to.weights != nil {
			weights(to.weights, blocks)
		}
		return to.scales == nil || scales(to.scales, to.biases, blocks)
	}
}

// packings holds the packed kinds. Every other kind is a plain type. A group is 32 elements.
var packings = map[kind]packing{
	q4_0:  centredPacking(4, 18, nibbles(18, 2)),
	q4_1:  {"affine", 4, group, "F16", exact(nibbles(20, 4), scaleAndMin(20)), false},
	q5_0:  centredPacking(5, 22, fiveBits(22, 2)),
	q5_1:  {"affine", 5, group, "F16", exact(fiveBits(24, 4), scaleAndMin(24)), false},
	q8_0:  centredPacking(8, 34, signedBytes),
	q4_k:  {"affine", 4, group, "F32", exact(superNibbles, superScales(144)), false},
	q5_k:  {"affine", 5, group, "F32", exact(superFiveBits, superScales(176)), false},
	iq4nl: centredPacking(8, 18, fromCodebook(18, 2)),
	iq4xs: {"affine", 8, group, "F32", exact(fromCodebook(136, 8), iq4xsGrid.scales), false},
	iq3s:  {"affine", 4, group, "F32", exact(iq3sGrid.weights(4), iq3sGrid.scales), false},
	iq3xx: {"affine", 6, group, "F32", exact(iq3xxsGrid.weights(6), iq3xxsGrid.scales), false},
	iq2xx: {"affine", 8, group, "F32", exact(iq2xxsGrid.weights(8), iq2xxsGrid.scales), false},
	mxfp4: {"mxfp4", 4, group, "U8", exact(nibbles(17, 1), exponents), false},
}

// group is how many elements share a scale.
const group = 32

// plainTypes holds the other kinds, by safetensors' names.
var plainTypes = map[kind]string{f32: "F32", f16: "F16", bf16: "BF16"}

// scaleBytes holds the bytes of a scale of each type.
var scaleBytes = map[string]int{"F32": 4, "F16": 2, "U8": 1}

var errScale = errors.New(
	"it has a scale that is no number, or too large, so it is damaged; download the file again")

var errDecay = errors.New(
	"it has a decay that is not below 0, so it is damaged; download the file again")

var little = binary.LittleEndian

// Eight elements at a time are a word of one byte each.
const (
	lowHalves = 0x0f0f0f0f0f0f0f0f
	lowBits   = 0x0101010101010101
	lowBytes  = 0x00ff00ff00ff00ff // of each two
	topBits   = 0x8080808080808080
)

// pack5 joins the low 5 bits of eight bytes. The other bits are 0.
func pack5(x uint64) uint64 {
	x = x&0x001f001f001f001f | x>>3&0x03e003e003e003e0
	x = x&0x000003ff000003ff | x>>6&0x000ffc00000ffc00
	return x&0x00000000000fffff | x>>12&0x000000fffff00000
}

// spread puts each of eight bits into the lowest bit of a byte.
func spread(b byte) uint64 {
	x := uint64(b) * lowBits & 0x8040201008040201
	return (x + ^uint64(topBits)) >> 7 & lowBits
}

// put5 writes 32 elements of 5 bits, eight in each of a to d.
func put5(dst []byte, a, b, c, d uint64) {
	little.PutUint64(dst, a|b<<40)
	little.PutUint64(dst[8:], b>>24|c<<16|d<<56)
	little.PutUint32(dst[16:], uint32(d>>8))
}

// halve returns the low and the high halves of eight bytes, each as four bytes of two neighbours.
func halve(x uint64) (low, high uint64) {
	const odd = 0x00f000f000f000f0
	t := (x ^ x>>4) & odd // a low half of the second byte for a high half of the first
	x ^= t ^ t<<4
	low, high = x&lowBytes, x>>8&lowBytes
	low = (low | low>>8) & 0x0000ffff0000ffff
	high = (high | high>>8) & 0x0000ffff0000ffff
	return uint64(uint32(low | low>>16)), uint64(uint32(high | high>>16))
}

// nibbles packs blocks of 32 elements of 4 bits, which begin at byte from of a block: first the low
// halves of 16 bytes, then the high halves. MLX has two neighbours in a byte.
func nibbles(size, from int) func(dst, blocks []byte) {
	return func(dst, blocks []byte) {
		for len(blocks) >= size && len(dst) >= group/2 {
			block := blocks[from:][:16]
			a, c := halve(little.Uint64(block))
			b, d := halve(little.Uint64(block[8:]))
			little.PutUint64(dst, a|b<<32)
			little.PutUint64(dst[8:], c|d<<32)
			blocks, dst = blocks[size:], dst[group/2:]
		}
	}
}

// fiveBits packs blocks of 32 elements of 5 bits. From byte from on a block has their highest bits,
// then the others as in nibbles.
func fiveBits(size, from int) func(dst, blocks []byte) {
	return func(dst, blocks []byte) {
		for len(blocks) >= size && len(dst) >= group*5/8 {
			high := blocks[from : from+4]
			a, b := little.Uint64(blocks[from+4:]), little.Uint64(blocks[from+12:])
			put5(dst,
				pack5(a&lowHalves|spread(high[0])<<4), pack5(b&lowHalves|spread(high[1])<<4),
				pack5(a>>4&lowHalves|spread(high[2])<<4),
				pack5(b>>4&lowHalves|spread(high[3])<<4))
			blocks, dst = blocks[size:], dst[group*5/8:]
		}
	}
}

// signedBytes turns the signed elements of Q8_0 into unsigned ones, 128 larger.
func signedBytes(dst, blocks []byte) {
	const size = 34
	for len(blocks) >= size && len(dst) >= group {
		for i := 0; i < group; i += 8 {
			little.PutUint64(dst[i:], little.Uint64(blocks[2+i:])^topBits)
		}
		blocks, dst = blocks[size:], dst[group:]
	}
}

// superNibbles packs blocks of Q4_K, of eight groups. Two groups share 32 bytes, one in the low
// halves and one in the high ones.
func superNibbles(dst, blocks []byte) {
	const size = 144
	for len(blocks) >= size && len(dst) >= 128 {
		from, to := (*[128]byte)(blocks[16:]), (*[128]byte)(dst)
		for i := 0; i < 128; i += 32 {
			a, e := halve(little.Uint64(from[i:]))
			b, f := halve(little.Uint64(from[i+8:]))
			c, g := halve(little.Uint64(from[i+16:]))
			d, h := halve(little.Uint64(from[i+24:]))
			little.PutUint64(to[i:], a|b<<32)
			little.PutUint64(to[i+8:], c|d<<32)
			little.PutUint64(to[i+16:], e|f<<32)
			little.PutUint64(to[i+24:], g|h<<32)
		}
		blocks, dst = blocks[size:], dst[128:]
	}
}

// superFiveBits packs blocks of Q5_K. Their elements are as in Q4_K, after 32 bytes of their
// highest bits: bit g of byte i belongs to element i of group g.
func superFiveBits(dst, blocks []byte) {
	const size = 176
	for len(blocks) >= size && len(dst) >= 160 {
		for g := range 8 {
			low := blocks[48+g/2*32:]
			var x [4]uint64
			for i := range x {
				element := little.Uint64(low[8*i:]) >> (g % 2 * 4) & lowHalves
				high := little.Uint64(blocks[16+8*i:]) >> g & lowBits
				x[i] = pack5(element | high<<4)
			}
			put5(dst[20*g:], x[0], x[1], x[2], x[3])
		}
		blocks, dst = blocks[size:], dst[160:]
	}
}

// centred writes the scales of blocks that begin with one. Their elements are centred around
// 2^shift, so the bias is -2^shift scales.
func centred(size int, shift uint16) func(scales, biases, blocks []byte) bool {
	return func(scales, biases, blocks []byte) bool {
		ok := true
		for i := 0; len(blocks) >= size; i += 2 {
			d := little.Uint16(blocks)
			bias := d + shift<<10
			if exponent := d >> 10 & 31; exponent == 0 || exponent+shift >= 31 {
				var fits bool
				bias, fits = halfTimes(d, shift)
				ok = ok && fits
			}
			little.PutUint16(scales[i:], d)
			little.PutUint16(biases[i:], bias^0x8000)
			blocks = blocks[size:]
		}
		return ok
	}
}

// scaleAndMin writes the scales of blocks that begin with a scale and the least value.
func scaleAndMin(size int) func(scales, biases, blocks []byte) bool {
	return func(scales, biases, blocks []byte) bool {
		ok := true
		for i := 0; len(blocks) >= size; i += 2 {
			d, m := little.Uint16(blocks), little.Uint16(blocks[2:])
			ok = ok && isFinite(d) && isFinite(m)
			little.PutUint16(scales[i:], d)
			little.PutUint16(biases[i:], m)
			blocks = blocks[size:]
		}
		return ok
	}
}

// superScales writes the scales of blocks of Q4_K and Q5_K. Each of eight groups has a 6-bit share
// of the block's scale and of its least value.
func superScales(size int) func(scales, biases, blocks []byte) bool {
	return func(scales, biases, blocks []byte) bool {
		ok := true
		for len(blocks) >= size {
			halves := [2]uint16{little.Uint16(blocks), little.Uint16(blocks[2:])}
			ok = ok && isFinite(halves[0]) && isFinite(halves[1])
			d, minScale := fromHalf(halves[0]), fromHalf(halves[1])
			shares, mins := superShares((*[12]byte)(blocks[4:]))
			to, under := (*[32]byte)(scales), (*[32]byte)(biases)
			for g := range 8 {
				putFloat(to[4*g:], d*float32(shares>>(8*g)&63))
				putFloat(under[4*g:], -(minScale * float32(mins>>(8*g)&63)))
			}
			blocks, scales, biases = blocks[size:], scales[32:], biases[32:]
		}
		return ok
	}
}

// superShares unpacks the shares of eight groups, a byte each: the first four are in the low 6 bits
// of a byte each. The others have their low halves together, and their highest bits above the first
// four.
func superShares(b *[12]byte) (scales, mins uint64) {
	x, y, z := little.Uint32(b[:]), little.Uint32(b[4:]), little.Uint32(b[8:])
	const low6, low4, high2 = 0x3f3f3f3f, 0x0f0f0f0f, 0x30303030
	scales = uint64(x&low6) | uint64(z&low4|x>>2&high2)<<32
	mins = uint64(y&low6) | uint64(z>>4&low4|y>>2&high2)<<32
	return scales, mins
}

// exponents writes the scales of MXFP4, powers of two. 255 is NaN.
func exponents(scales, _, blocks []byte) bool {
	const size = 17
	ok := true
	for i := 0; len(blocks) >= size; i++ {
		scales[i] = blocks[0]
		ok = ok && scales[i] != 255
		blocks = blocks[size:]
	}
	return ok
}
