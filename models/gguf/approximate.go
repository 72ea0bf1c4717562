package gguf

import "math"

// Q2_K, Q3_K and Q6_K have a scale for each 16 elements, and MLX's affine form has no groups so
// small. Their groups are joined, with more bits for each element, so that the steps of a joined
// group fall close to those of its parts.
const (
	part16 = 16  // elements with a scale of their own
	super  = 256 // elements of a block
)

// An approximation is how blocks of one kind are unpacked, and to what they may be packed: the
// fewest bits first, and of these the fewest scales.
type approximation struct {
	unpack func(b *superBlock, block []byte)
	forms  []form
	zero   int // the element that stands for 0, or 0 if parts have offsets
	most   int // the largest element
}

// A form is a size of elements and of groups.
type form struct {
	bits, group int
	scale       string
}

var approximations = map[kind]approximation{
	q2_k: {unpackQ2, []form{{4, 64, "F16"}, {4, 32, "F16"}, {5, 32, "F16"}, {5, 32, "F32"},
		{8, 32, "F32"}}, 0, 3},
	q3_k: {unpackQ3, []form{{5, 64, "F16"}, {5, 32, "F16"}, {5, 32, "F32"}, {8, 32, "F32"}}, 4, 7},
	q6_k: {unpackQ6, []form{{8, 64, "F16"}, {8, 32, "F16"}, {8, 32, "F32"}}, 32, 63},
}

// A superBlock is an unpacked block. An element q of part i has the value d*share[i]*(q - zero), or
// d*share[i]*q - least*leastShare[i] of a kind without a zero.
type superBlock struct {
	words      [super / 8]uint64 // eight elements each
	share      [super / part16]int32
	leastShare [super / part16]int32
	d, least   float32
	ok         bool // d and least are finite
}

const low2 = 3 * lowBits

// unpackQ2 unpacks 16 shares of scales, 2 bits of each element, the scale of all shares, and that
// of the least values.
func unpackQ2(b *superBlock, block []byte) {
	d, least := little.Uint16(block[80:]), little.Uint16(block[82:])
	b.ok = isFinite(d) && isFinite(least)
	b.d, b.least = fromHalf(d), fromHalf(least)
	for i, share := range block[:16] {
		b.share[i], b.leastShare[i] = int32(share&15), int32(share>>4)
	}
	for half := range 2 {
		for i := range 4 {
			x := little.Uint64(block[16+32*half+8*i:])
			for j := range 4 {
				b.words[16*half+4*j+i] = x >> (2 * j) & low2
			}
		}
	}
}

// unpackQ3 unpacks the highest bits of all elements, their low 2 bits, 16 shares of 6 bits, and the
// scale of all shares.
func unpackQ3(b *superBlock, block []byte) {
	d := little.Uint16(block[108:])
	b.d, b.ok = fromHalf(d), isFinite(d)
	shares := block[96:108]
	for i := range b.share {
		share := shares[i%8]>>(i/8*4)&15 | shares[8+i%4]>>(i/4*2)&3<<4
		b.share[i] = int32(share) - 32
	}
	for half := range 2 {
		for i := range 4 {
			x, high := little.Uint64(block[32+32*half+8*i:]), little.Uint64(block[8*i:])>>(4*half)
			for j := range 4 {
				b.words[16*half+4*j+i] = x>>(2*j)&low2 | high>>j&lowBits<<2
			}
		}
	}
}

// unpackQ6 unpacks the low 4 bits of all elements, their high 2 bits, 16 shares of 8 bits, and the
// scale of all shares.
func unpackQ6(b *superBlock, block []byte) {
	d := little.Uint16(block[208:])
	b.d, b.ok = fromHalf(d), isFinite(d)
	for i, share := range block[192:208] {
		b.share[i] = int32(int8(share))
	}
	for half := range 2 {
		for i := range 4 {
			x, y := little.Uint64(block[64*half+8*i:]), little.Uint64(block[64*half+32+8*i:])
			high := little.Uint64(block[128+32*half+8*i:])
			words := b.words[16*half+i : 16*half+i+13]
			words[0] = x&lowHalves | high&low2<<4
			words[4] = y&lowHalves | high>>2&low2<<4
			words[8] = x>>4&lowHalves | high>>4&low2<<4
			words[12] = y>>4&lowHalves | high>>6&low2<<4
		}
	}
}

// value returns what an element of a part stands for, as llama.cpp has it.
func (a *approximation) value(b *superBlock, part int, q uint64) float64 {
	if a.zero > 0 {
		return float64(b.d*float32(b.share[part])) * float64(int(q)-a.zero)
	}
	return float64(b.d*float32(b.share[part]))*float64(q) -
		float64(b.least*float32(b.leastShare[part]))
}

// floats writes the elements of whole blocks as float32, by llama.cpp's own steps. It reports false
// if a scale is not finite.
func (a *approximation) floats(out, blocks []byte, size int) bool {
	var b superBlock
	ok := true
	for ; len(blocks) >= size; blocks = blocks[size:] {
		a.unpack(&b, blocks[:size])
		ok = ok && b.ok
		for part, share := range b.share {
			step := b.d * float32(share)
			least := float32(b.least * float32(b.leastShare[part]))
			for i := range part16 {
				q := b.words[2*part+i/8] >> (i % 8 * 8) & 255
				v := step * float32(int(q)-a.zero)
				if a.zero == 0 {
					v = float32(v) - least // all are rounded, so that no product is fused with it
				}
				putFloat(out[4*i:], v)
			}
			out = out[4*part16:]
		}
	}
	return ok
}

// A joint is a joined group: its scale and its bias as they are stored, and how the elements of its
// parts become its own.
type joint struct {
	scale, bias float32
	lines       [4]line
	ok          bool // both are finite in the stored type
}

// A line maps the elements of a part to those of its group: (at + slope q) / 256, rounded down. All
// results fit the group's elements. A slope may be negative.
type line struct{ at, slope int64 }

// join sets j to the joint of parts from the given one on.
func (a *approximation) join(b *superBlock, from int, f form, j *joint) {
	if a.zero > 0 {
		a.joinCentred(b, from, f, j)
	} else {
		a.joinShifted(b, from, f, j)
	}
	j.ok = b.ok && !isInf(j.scale) && !isInf(j.bias)
}

// joinCentred joins parts around a common zero. A step of the widest part is a whole number of
// steps of the joint.
func (a *approximation) joinCentred(b *superBlock, from int, f form, j *joint) {
	shares := b.share[from : from+f.group/part16]
	// The key of a share is its magnitude, then that it comes first, then its sign. Signs are as
	// random as weights, so a branch on them would cost more than the rest.
	first := int32(0)
	for i, s := range shares {
		first = max(first, abs(s)<<3|int32(3-i)<<1|int32(uint32(s)>>31))
	}
	sign := 1 - first&1<<1
	widest := first >> 3
	if widest == 0 {
		*j = joint{}
		return
	}
	middle := 1 << (f.bits - 1)
	steps := int32(middle / a.zero) // of the joint, in one of the widest part
	j.scale = f.round(b.d * float32(sign*widest) / float32(steps))
	if j.bias = -j.scale * float32(middle); abs(j.bias) > maxHalf {
		j.bias = f.round(j.bias) // else no rounding changes it
	}
	centre, top := int64(middle)<<8+128, int64(256)<<f.bits-1
	for i, s := range shares {
		slope := int64(uint32(abs(s)*steps<<8+widest/2) / uint32(widest))
		opposite := int64((s ^ -(first & 1)) >> 31) // 0, or -1 if it has another sign
		slope = (slope ^ opposite) - opposite
		j.lines[i] = line{min(centre-slope*int64(a.zero), top), slope}
	}
}

// maxHalf is the largest float16.
const maxHalf = 65504

func abs[T int32 | float32](v T) T { return max(v, -v) }

// joinShifted joins parts that each have a least value.
func (a *approximation) joinShifted(b *superBlock, from int, f form, j *joint) {
	least, most := float32(math.Inf(1)), float32(math.Inf(-1))
	parts := f.group / part16
	for i := from; i < from+parts; i++ {
		x := -b.least * float32(b.leastShare[i])
		y := x + b.d*float32(b.share[i])*float32(a.most)
		least, most = min(least, x, y), max(most, x, y)
	}
	*j = joint{scale: f.round((most - least) / float32(int(1)<<f.bits-1)), bias: f.round(least)}
	if j.scale == 0 || isInf(j.scale) || isInf(j.bias) {
		return
	}
	top, steps := float32(int(256)<<f.bits-1), 256/j.scale
	for i := range parts {
		slope := b.d * float32(b.share[from+i]) * steps
		at := (-b.least*float32(b.leastShare[from+i])-j.bias)*steps + 128
		l := &j.lines[i]
		l.slope = int64(min(max(slope, -slope)+0.5, top/float32(a.most)))
		reach := float32(l.slope * int64(a.most))
		if slope < 0 {
			l.slope = -l.slope
			l.at = int64(min(max(at, reach), top))
		} else {
			l.at = int64(min(max(at, 0), top-reach))
		}
	}
}

// round returns a scale as it is stored.
func (f form) round(v float32) float32 {
	if f.scale == "F32" {
		return v
	}
	h := toHalf(v)
	if !isFinite(h) {
		return float32(math.Inf(1))
	}
	return fromHalf(h)
}

// put stores a scale that was rounded, and returns its bytes.
func (f form) put(b []byte, v float32) int {
	if f.scale == "F32" {
		putFloat(b, v)
		return 4
	}
	little.PutUint16(b, toHalf(v))
	return 2
}

func isInf(v float32) bool { return math.IsInf(float64(v), 0) }

// Numbers of 16 bits are computed with in lanes, four in a word. lanes multiplies one into all.
const (
	lanes    = 0x0001000100010001
	lowBytes = 0xff * lanes
)

// apply maps eight elements. It returns what falls on a step, and before that the even and the odd
// lanes with their fractions. Each lane ends between 0 and 2^16, so a negative slope borrows nothing
// in the end.
func (l line) apply(x uint64) (steps, even, odd uint64) {
	even = uint64(l.at)*lanes + x&lowBytes*uint64(l.slope)
	odd = uint64(l.at)*lanes + x>>8&lowBytes*uint64(l.slope)
	return even>>8&lowBytes | odd&^lowBytes, even, odd
}

// packing returns the packing of a form.
func (a *approximation) packing(size int, f form) *packing {
	return &packing{mode: "affine", bits: f.bits, group: f.group, scale: f.scale,
		pack: func(to packed, blocks []byte) bool {
			var b superBlock
			ok := true
			for ; len(blocks) >= size; blocks = blocks[size:] {
				a.unpack(&b, blocks[:size])
				ok = a.put(&to, &b, f) && ok
			}
			return ok
		}}
}

// put packs one block. It moves to past what it wrote.
func (a *approximation) put(to *packed, b *superBlock, f form) bool {
	// Each step is done for all groups before the next one, which would wait for it.
	parts := f.group / part16
	ok := true
	var all [super / 32]joint
	joints := all[:len(b.share)/parts]
	for i := range joints {
		a.join(b, i*parts, f, &joints[i])
		ok = ok && joints[i].ok
	}
	if to.scales != nil {
		for i := range joints {
			n := f.put(to.scales, joints[i].scale)
			f.put(to.biases, joints[i].bias)
			to.scales, to.biases = to.scales[n:], to.biases[n:]
		}
	}
	switch {
	case to.tally != nil:
		to.tally.add(a, b, joints, parts)
	case to.weights != nil:
		for i := range joints {
			for k, l := range joints[i].lines[:parts] {
				words := b.words[2*(i*parts+k):][:2]
				words[0], _, _ = l.apply(words[0])
				words[1], _, _ = l.apply(words[1])
			}
		}
	}
	if to.weights != nil {
		to.weights = putWords(to.weights, &b.words, f.bits)
	}
	return ok
}

// putWords packs elements of so many bits, eight in a word, and returns what is left of dst.
func putWords(dst []byte, words *[super / 8]uint64, bits int) []byte {
	out, left := dst[:bits*super/8], dst[bits*super/8:]
	switch bits {
	case 4:
		for i := 0; i+1 < len(words); i += 2 {
			little.PutUint64(out[4*i:], squeeze4(words[i])|squeeze4(words[i+1])<<32)
		}
	case 5:
		for i := 0; i+3 < len(words); i += 4 {
			put5(out[5*i:], squeeze5(words[i]), squeeze5(words[i+1]), squeeze5(words[i+2]),
				squeeze5(words[i+3]))
		}
	default:
		for i, w := range words {
			little.PutUint64(out[8*i:], w)
		}
	}
	return left
}
