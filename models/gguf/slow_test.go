package gguf

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A slowBlock is a block that was unpacked one element at a time, as the format's documents have
// it: q means step*(q - zero) - least.
type slowBlock struct {
	q           [super]int
	zero        int
	spacing     float64 // of the elements that a kind has, see superblock.h
	step, least [super]float32
	finite      bool
}

// unpackSlowly unpacks a block of an approximated kind.
func unpackSlowly(k kind, b []byte) *slowBlock {
	s := &slowBlock{finite: true, spacing: 1}
	half := func(at int) float32 {
		h := little.Uint16(b[at:])
		s.finite = s.finite && isFinite(h)
		return fromHalf(h)
	}
	for i := range s.q {
		part := i / 16
		byte32 := i/128*32 + i%32 // where 32 bytes hold 128 elements
		low2 := func(at int) int { return int(b[at+byte32]) >> (i % 128 / 32 * 2) & 3 }
		switch k {
		case q2_k:
			s.q[i] = low2(16)
			s.step[i] = half(80) * float32(b[part]&15)
			s.least[i] = half(82) * float32(b[part]>>4)
		case q3_k:
			high := int(b[i%32]) >> (i / 32) & 1
			share := int(b[96+part%8])>>(part/8*4)&15 | int(b[104+part%4])>>(part/4*2)&3<<4
			s.q[i], s.zero = low2(32)|high<<2, 4
			s.step[i] = half(108) * float32(share-32)
		case q6_k:
			low := int(b[i/128*64+i%64]) >> (i % 128 / 64 * 4) & 15
			s.q[i], s.zero = low|low2(128)<<4, 32
			s.step[i] = half(208) * float32(int8(b[192+part]))
		case iq2xs:
			index := int(little.Uint16(b[2+i/8*2:]))
			s.fromGrid(i, grids[256*8+index&511*8:], ksigns(index>>9), half(0), b[66+i/32]>>(i%32/16*4))
		case iq2s:
			index := int(b[2+i/8]) | int(b[66+i/32])>>(i/8%4*2)&3<<8
			s.fromGrid(i, grids[768*8+index*8:], int(b[34+i/8]), half(0), b[74+i/32]>>(i%32/16*4))
		}
	}
	return s
}

// fromGrid sets element i of an I kind of 2 bits, by the vector of eight that the grid has, their
// signs, the block's scale and the 4 bits of its part.
func (s *slowBlock) fromGrid(i int, vector []byte, signs int, d float32, share byte) {
	s.zero, s.spacing = 43, 18
	if s.q[i] = 43 + int(vector[i%8]); signs>>(i%8)&1 == 1 {
		s.q[i] = 43 - int(vector[i%8])
	}
	s.step[i] = d * (0.5 + float32(share&15)) * 0.25
}

// ksigns returns eight signs by their first seven: the last makes their number even.
func ksigns(first int) int {
	odd := 0
	for b := first; b > 0; b >>= 1 {
		odd ^= b & 1
	}
	return first | odd<<7
}

// float returns an element as llama.cpp rounds it.
func (s *slowBlock) float(i int) float32 {
	return float32(s.step[i]*float32(s.q[i]-s.zero)) - s.least[i]
}

// value returns an element without the last roundings.
func (s *slowBlock) value(i int) float64 {
	return float64(s.step[i])*float64(s.q[i]-s.zero) - float64(s.least[i])
}

// readPacked returns element i of packed blocks, and the scale and the bias of its group.
func (f affineFormat) readPacked(from packed, i int) (y, scale, bias float64) {
	for j := range f.bits {
		bit := i*f.bits + j
		y += float64(int(from.weights[bit/8]) >> (bit % 8) & 1 << j)
	}
	g := i / f.group
	if f.scale == "F32" {
		scale = float64(math.Float32frombits(little.Uint32(from.scales[4*g:])))
		return y, scale, float64(math.Float32frombits(little.Uint32(from.biases[4*g:])))
	}
	scale = float64(fromHalf(little.Uint16(from.scales[2*g:])))
	return y, scale, float64(fromHalf(little.Uint16(from.biases[2*g:])))
}

// scalesAt holds where the float16 of a block are, and sharesAt where its shares begin and end.
var (
	scalesAt = map[kind][]int{q2_k: {80, 82}, q3_k: {108}, q6_k: {208}, iq2xs: {0}, iq2s: {0}}
	sharesAt = map[kind][2]int{q2_k: {0, 16}, q3_k: {96, 108}, q6_k: {192, 208}, iq2xs: {66, 74}, iq2s: {74, 82}}
)

// sampleBlocks returns blocks of three sorts in turn: as in a model, with any scales, and with
// extreme scales and shares.
func sampleBlocks(k kind, n int) []byte {
	source := rand.NewChaCha8([32]byte{byte(k)})
	random := rand.New(source)
	blocks := make([]byte, n*k.bytes())
	source.Read(blocks)
	extremes := []uint16{0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x7bff, 0xfbff}
	for i := range n {
		b := blocks[i*k.bytes():][:k.bytes()]
		for _, at := range scalesAt[k] {
			h := little.Uint16(b[at:])
			switch i % 3 {
			case 0:
				h = h&0x03ff | 0x0800 + uint16(random.IntN(8))<<10
			case 1:
				h &= 0xbfff
			case 2:
				h = extremes[random.IntN(len(extremes))]
			}
			little.PutUint16(b[at:], h)
		}
		if i%3 == 2 { // parts that all have one share, or no share
			shares := b[sharesAt[k][0]:sharesAt[k][1]]
			value := []byte{0, 0x80, 0x7f, 0xff, 0x0f, 0xf0, 1, b[0]}[random.IntN(8)]
			for j := range shares[random.IntN(len(shares)):] {
				shares[j] = value
			}
		}
	}
	return blocks
}

// memoryFor returns where n blocks go in a format.
func (f affineFormat) memoryFor(n int) packed {
	side := n * super / f.group * scaleBytes[f.scale]
	return packed{weights: make([]byte, n*super*f.bits/8), scales: make([]byte, side),
		biases: make([]byte, side), tally: &tally{}}
}

// eachFormat runs a test for each format of each kind.
func eachFormat(t *testing.T, test func(t *testing.T, k kind, f affineFormat)) {
	for k, forms := range approximations {
		for _, f := range append(forms, exactFormats[k]) {
			t.Run(k.String()+"-"+f.String(), func(t *testing.T) { test(t, k, f) })
		}
	}
}
