package gguf

import (
	_ "embed"
	"math/bits"
)

// The I kinds have an index for several elements, into a grid of the vectors that a file may hold,
// and a sign for each element. They are unpacked here to one byte each, around the element that
// stands for 0.

//go:embed grids.bin
var grids []byte // recorded by build/fixtures/llamacpp.py: the sizes of the elements, one in a byte

// Each grid has vectors of eight elements, or of four in the kinds of 3 bits.
var (
	gridIQ2XXS = grids[:256*8]
	gridIQ2XS  = grids[256*8:][:512*8]
	gridIQ2S   = grids[768*8:][:1024*8]
	gridIQ3XXS = grids[1792*8:][:256*4]
	gridIQ3S   = grids[1792*8+256*4:][:512*4]
)

// eight returns vector i of a grid.
func eight(grid []byte, i int) uint64 { return little.Uint64(grid[8*i:]) }

// fours returns vectors i and j of a grid of 3 bits, with half their sizes, rounded down.
func fours(grid []byte, i, j int) uint64 {
	v := uint64(little.Uint32(grid[4*i:])) | uint64(little.Uint32(grid[4*j:]))<<32
	return v >> 1 & 0x7f7f7f7f7f7f7f7f
}

// A gridKind says how the blocks of a kind are unpacked, see [packings].
type gridKind struct {
	bytes int
	zero  float32 // the element that stands for 0
	unit  float32 // a step is the block's scale, times this, times the share of its group

	// elements unpacks the elements of a block. It is nil for IQ4_XS, whose elements have no signs.
	elements func(to *[super / 8]uint64, block []byte)

	// share returns the share of a group, which has 16 elements in IQ2_XS and IQ2_S, and 32 in others.
	share func(block []byte, group int) float32
}

var (
	iq4xsGrid = gridKind{136, 128, 1, nil, func(b []byte, g int) float32 {
		low, high := b[4+g/2]>>(g%2*4)&15, little.Uint16(b[2:])>>(2*g)&3
		return float32(int(low) | int(high)<<4 - 32)
	}}
	iq3sGrid = gridKind{110, 7.5, 2, func(to *[super / 8]uint64, b []byte) {
		for i := range to {
			high := int(b[66+i/4]) >> (i % 4 * 2) // a ninth bit of both indices
			v := fours(gridIQ3S, int(b[2+2*i])|high&1<<8, int(b[3+2*i])|high&2<<7)
			to[i] = signed(v, b[74+i], 8, 7)
		}
	}, func(b []byte, g int) float32 { return odd(b[106+g/2] >> (g % 2 * 4)) }}
	iq3xxsGrid = gridKind{98, 31, 0.5, func(to *[super / 8]uint64, b []byte) {
		for i := range to {
			v := fours(gridIQ3XXS, int(b[2+2*i]), int(b[3+2*i]))
			to[i] = signed(v, evenSigns(little.Uint32(b[66+i/4*4:])>>(i%4*7)), 31, 31)
		}
	}, func(b []byte, g int) float32 { return odd(b[69+4*g] >> 4) }}
	iq2xxsGrid = gridKind{66, 43, 0.125, func(to *[super / 8]uint64, b []byte) {
		for i := range to {
			v := eight(gridIQ2XXS, int(b[2+i/4*8+i%4]))
			to[i] = signed(v, evenSigns(little.Uint32(b[6+i/4*8:])>>(i%4*7)), 43, 43)
		}
	}, func(b []byte, g int) float32 { return odd(b[9+8*g] >> 4) }}
	iq2xsGrid = gridKind{74, 43, 0.125, func(to *[super / 8]uint64, b []byte) {
		for i := range to {
			q := little.Uint16(b[2+2*i:])
			to[i] = signed(eight(gridIQ2XS, int(q&511)), evenSigns(uint32(q>>9)), 43, 43)
		}
	}, func(b []byte, g int) float32 { return odd(b[66+g/2] >> (g % 2 * 4)) }}
	iq2sGrid = gridKind{82, 43, 0.125, func(to *[super / 8]uint64, b []byte) {
		for i := range to {
			high := int(b[66+i/4]) >> (i % 4 * 2) & 3
			to[i] = signed(eight(gridIQ2S, int(b[2+i])|high<<8), b[34+i], 43, 43)
		}
	}, func(b []byte, g int) float32 { return odd(b[74+g/2] >> (g % 2 * 4)) }}
)

// odd returns the share that 4 bits stand for: 1, 3, to 31.
func odd(b byte) float32 { return float32(2*(b&15) + 1) }

// evenSigns returns eight signs of which an even number are set, of their first seven.
func evenSigns(x uint32) byte {
	first := byte(x & 127)
	return first | byte(bits.OnesCount8(first)&1)<<7
}

// signed gives eight sizes their signs: above + size, or below - size where a sign is set.
func signed(sizes uint64, signs byte, above, below uint64) uint64 {
	mask := spread(signs) * 0xff
	return (above*lowBits+sizes)&^mask | (below*lowBits-sizes)&mask
}

// weights packs the elements of blocks in so many bits.
func (k *gridKind) weights(width int) func(dst, blocks []byte) {
	return func(dst, blocks []byte) {
		var e [super / 8]uint64
		for len(blocks) >= k.bytes && len(dst) >= super*width/8 {
			k.elements(&e, blocks[:k.bytes])
			for i, x := range e {
				putEight(dst[i*width:], x, width)
			}
			blocks, dst = blocks[k.bytes:], dst[super*width/8:]
		}
	}
}

// putEight writes eight elements of 4, 6 or 8 bits.
func putEight(dst []byte, x uint64, width int) {
	switch width {
	case 4:
		x = (x | x>>4) & lowBytes
		x = (x | x>>8) & 0x0000ffff0000ffff
		little.PutUint32(dst, uint32(x|x>>16))
	case 6:
		x = x&0x003f003f003f003f | x>>2&0x0fc00fc00fc00fc0
		x = x&0x00000fff00000fff | x>>4&0x00fff00000fff000
		x = x&0xffffff | x>>8&0xffffff000000
		little.PutUint32(dst, uint32(x))
		little.PutUint16(dst[4:], uint16(x>>32))
	default:
		little.PutUint64(dst, x)
	}
}

// scales writes the scales and biases of groups of 32.
func (k *gridKind) scales(scales, biases, blocks []byte) bool {
	ok := true
	for len(blocks) >= k.bytes {
		half := little.Uint16(blocks)
		ok = ok && isFinite(half)
		d := fromHalf(half) * k.unit
		for g := range super / group {
			scale := d * k.share(blocks, g)
			putFloat(scales[4*g:], scale)
			putFloat(biases[4*g:], -k.zero*scale)
		}
		blocks, scales, biases = blocks[k.bytes:], scales[super/group*4:], biases[super/group*4:]
	}
	return ok
}

// evenBlocks turns blocks of IQ2_XS and IQ2_S into those that the code in C reads: 256 elements in a
// byte each, 16 shares, and the scale.
func (k *gridKind) evenBlocks(blocks []byte) []byte {
	const size = super + 16 + 2
	even := make([]byte, len(blocks)/k.bytes*size)
	var e [super / 8]uint64
	for to := even; len(to) > 0; to, blocks = to[size:], blocks[k.bytes:] {
		k.elements(&e, blocks[:k.bytes])
		for i, x := range e {
			little.PutUint64(to[8*i:], x)
		}
		for g := range 16 {
			to[super+g] = byte(k.share(blocks, g))
		}
		copy(to[super+16:], blocks[:2])
	}
	return even
}

// codebook holds the values of IQ4_NL and IQ4_XS, 128 larger.
var codebook = [16]byte{1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241}

// fromCodebook looks elements up. Each 32 are ordered as in nibbles, from a byte of the block on.
func fromCodebook(size, from int) func(dst, blocks []byte) {
	return func(dst, blocks []byte) {
		for ; len(blocks) >= size; blocks = blocks[size:] {
			for part := blocks[from:size]; len(part) > 0 && len(dst) >= group; part, dst = part[16:], dst[group:] {
				for i, b := range part[:16] {
					dst[i], dst[i+16] = codebook[b&15], codebook[b>>4]
				}
			}
		}
	}
}
