package gguf

import (
	"io"
	"math"
)

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

// maxError is how large the rms error of a tensor may be, in rms steps of its scales. A sample
// tells it, so there is some room below 0.1.
const maxError = 0.095

var approximations = map[kind]approximation{
	q2_k: {unpackQ2, []form{{4, 64, "F16"}, {4, 32, "F16"}, {5, 32, "F16"}, {5, 32, "F32"},
		{8, 32, "F32"}}, 0, 3},
	q3_k: {unpackQ3, []form{{5, 64, "F16"}, {5, 32, "F16"}, {5, 32, "F32"}, {8, 32, "F32"}}, 4, 7},
	q6_k: {unpackQ6, []form{{8, 64, "F16"}, {8, 32, "F16"}, {8, 32, "F32"}}, 32, 63},
}

// A superBlock is an unpacked block. Element i has the value step*q[i] + offset of its part.
type superBlock struct {
	q            [super]byte
	step, offset [super / part16]float32
	ok           bool // all numbers are finite
}

// unpackQ2 unpacks 16 shares of scales, 2 bits of each element, the scale of all shares, and that
// of the offsets.
func unpackQ2(b *superBlock, block []byte) {
	d, least := little.Uint16(block[80:]), little.Uint16(block[82:])
	b.ok = isFinite(d) && isFinite(least)
	for i, share := range block[:16] {
		b.step[i] = fromHalf(d) * float32(share&15)
		b.offset[i] = -(fromHalf(least) * float32(share>>4))
	}
	const low2 = 3 * lowBits
	for i := 0; i < super; i += 8 {
		x := little.Uint64(block[16+i/128*32+i%32:])
		little.PutUint64(b.q[i:], x>>(i%128/32*2)&low2)
	}
}

// unpackQ3 unpacks the highest bits of all elements, their low 2 bits, 16 shares of 6 bits, and the
// scale of all shares.
func unpackQ3(b *superBlock, block []byte) {
	d := little.Uint16(block[108:])
	b.ok = isFinite(d)
	shares := block[96:108]
	for i := range b.step {
		share := shares[i%8]>>(i/8*4)&15 | shares[8+i%4]>>(i/4*2)&3<<4
		b.step[i] = fromHalf(d) * float32(int(share)-32)
		b.offset[i] = -4 * b.step[i]
	}
	const low2 = 3 * lowBits
	for i := 0; i < super; i += 8 {
		low := little.Uint64(block[32+i/128*32+i%32:]) >> (i % 128 / 32 * 2) & low2
		high := little.Uint64(block[i%32:]) >> (i / 32) & lowBits
		little.PutUint64(b.q[i:], low|high<<2)
	}
}

// unpackQ6 unpacks the low 4 bits of all elements, their high 2 bits, 16 shares of 8 bits, and the
// scale of all shares.
func unpackQ6(b *superBlock, block []byte) {
	d := little.Uint16(block[208:])
	b.ok = isFinite(d)
	for i, share := range block[192:208] {
		b.step[i] = fromHalf(d) * float32(int8(share))
		b.offset[i] = -32 * b.step[i]
	}
	const low2 = 3 * lowBits
	for i := 0; i < super; i += 8 {
		quarter := i % 128 / 32
		low := little.Uint64(block[i/128*64+quarter%2*32+i%32:]) >> (quarter / 2 * 4) & lowHalves
		high := little.Uint64(block[128+i/128*32+i%32:]) >> (quarter * 2) & low2
		little.PutUint64(b.q[i:], low|high<<4)
	}
}

// A joint is the scale of a joined group.
type joint struct {
	scale, bias float32 // as they are stored
	ok          bool    // both are finite in the stored type
}

// join returns the scale for the parts [from, to) of a block.
func (a *approximation) join(b *superBlock, from, to int, f form) joint {
	var j joint
	if a.zero > 0 {
		// A step of the widest part is a whole number of steps of the joint.
		widest := float32(0)
		for _, s := range b.step[from:to] {
			if abs(s) > abs(widest) {
				widest = s
			}
		}
		j.scale = f.round(widest * float32(2*a.zero) / float32(int(1)<<f.bits))
		j.bias = f.round(-j.scale * float32(int(1)<<(f.bits-1)))
	} else {
		least, most := float32(math.Inf(1)), float32(math.Inf(-1))
		for i := from; i < to; i++ {
			x, y := b.offset[i], b.offset[i]+b.step[i]*float32(a.most)
			least, most = min(least, x, y), max(most, x, y)
		}
		j.scale = f.round((most - least) / float32(int(1)<<f.bits-1))
		j.bias = f.round(least)
	}
	j.ok = b.ok && !isInf(j.scale) && !isInf(j.bias)
	return j
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

// put stores a scale that was rounded.
func (f form) put(b []byte, v float32) {
	if f.scale == "F32" {
		putFloat(b, v)
		return
	}
	little.PutUint16(b, toHalf(v))
}

func abs(v float32) float32 { return max(v, -v) }
func isInf(v float32) bool  { return math.IsInf(float64(v), 0) }

// A line maps the elements of a part to those of its group: (at + slope q) / 256, rounded down. All
// results fit the group's elements.
type line struct {
	at, slope uint64
	down      bool // the slope is negative
}

// line returns the map of part i to a group with the scale j.
func (a *approximation) line(b *superBlock, i int, j joint, bits int) line {
	if j.scale == 0 {
		return line{}
	}
	top := float32(int(256)<<bits - 1)
	slope := b.step[i] / j.scale * 256
	at := (b.offset[i]-j.bias)/j.scale*256 + 128
	most := float32(a.most)
	slope = min(max(slope, -top/most), top/most)
	l := line{down: slope < 0, slope: uint64(abs(slope) + 0.5)}
	if l.slope*uint64(a.most) > uint64(top) {
		l.slope--
	}
	reach := float32(l.slope * uint64(a.most))
	if l.down {
		l.at = uint64(min(max(at, reach), top))
	} else {
		l.at = uint64(min(max(at, 0), top-reach))
	}
	return l
}

// lanes multiplies a number into four lanes of 16 bits.
const lanes = 0x0001000100010001

// apply maps eight elements.
func (l line) apply(x uint64) uint64 {
	const low = 0x00ff00ff00ff00ff
	even, odd := x&low*l.slope, x>>8&low*l.slope
	at := l.at * lanes
	if l.down {
		even, odd = at-even, at-odd
	} else {
		even, odd = at+even, at+odd
	}
	return even>>8&low | odd&^low
}

// packing returns the packing of a form.
func (a *approximation) packing(size int, f form) *packing {
	p := &packing{mode: "affine", bits: f.bits, group: f.group, scale: f.scale}
	bytes, parts := scaleBytes[f.scale], f.group/part16
	p.weights = func(dst, blocks []byte) {
		var b superBlock
		for len(blocks) >= size {
			a.unpack(&b, blocks[:size])
			for from := 0; from < len(b.step); from += parts {
				j := a.join(&b, from, from+parts, f)
				var words [8]uint64
				for i := range parts {
					l := a.line(&b, from+i, j, f.bits)
					at := (from + i) * part16
					words[2*i] = l.apply(little.Uint64(b.q[at:]))
					words[2*i+1] = l.apply(little.Uint64(b.q[at+8:]))
				}
				dst = putWords(dst, words[:2*parts], f.bits)
			}
			blocks = blocks[size:]
		}
	}
	p.scales = func(scales, biases, blocks []byte) bool {
		var b superBlock
		ok := true
		at := 0
		for len(blocks) >= size {
			a.unpack(&b, blocks[:size])
			for from := 0; from < len(b.step); from += parts {
				j := a.join(&b, from, from+parts, f)
				ok = ok && j.ok
				f.put(scales[at:], j.scale)
				f.put(biases[at:], j.bias)
				at += bytes
			}
			blocks = blocks[size:]
		}
		return ok
	}
	return p
}

// putWords packs elements of so many bits, eight in a word, and returns what is left of dst.
func putWords(dst []byte, words []uint64, bits int) []byte {
	for len(words) > 0 {
		switch bits {
		case 4:
			little.PutUint64(dst, squeeze4(words[0])|squeeze4(words[1])<<32)
			dst, words = dst[8:], words[2:]
		case 5:
			put5(dst, squeeze5(words[0]), squeeze5(words[1]), squeeze5(words[2]),
				squeeze5(words[3]))
			dst, words = dst[20:], words[4:]
		default:
			little.PutUint64(dst, words[0])
			dst, words = dst[8:], words[1:]
		}
	}
	return dst
}

// A Loss is how far the weights of a tensor are from the file's. Steps are those of the file's own
// scales, in their rms. Both figures are of a sample.
type Loss struct {
	Tensor string
	Kind   string
	Bits   int     // of an element in memory
	RMS    float64 // in steps
	Max    float64 // in steps
}

// measure returns the loss of blocks in a form.
func (a *approximation) measure(blocks []byte, size int, f form) (l Loss, ok bool) {
	var b superBlock
	var squares, steps, most float64
	ok = true
	n := 0
	for ; len(blocks) >= size; blocks = blocks[size:] {
		a.unpack(&b, blocks[:size])
		parts := f.group / part16
		for i := range b.step {
			j := a.join(&b, i/parts*parts, i/parts*parts+parts, f)
			ok = ok && j.ok
			line := a.line(&b, i, j, f.bits)
			steps += float64(b.step[i]) * float64(b.step[i]) * part16
			for _, q := range b.q[i*part16 : (i+1)*part16] {
				got := float64(j.scale)*float64(line.apply(uint64(q))&255) + float64(j.bias)
				e := got - float64(b.step[i])*float64(q) - float64(b.offset[i])
				squares += e * e
				most = max(most, math.Abs(e))
			}
			n += part16
		}
	}
	if steps > 0 {
		rms := math.Sqrt(steps / float64(n))
		l.RMS, l.Max = math.Sqrt(squares/float64(n))/rms, most/rms
	}
	return l, ok
}

// A sample is so many runs of blocks, evenly spaced over a tensor.
const (
	sampleRuns = 16
	sampleRun  = 16 // blocks
)

// choose returns the first form whose loss in a sample of the tensor is small enough, or else the
// last, and that loss.
func (a *approximation) choose(r io.ReaderAt, t *tensor) (*packing, Loss, error) {
	size := t.kind.bytes()
	blocks := t.bytes / int64(size)
	run := min(blocks, sampleRun)
	var sample []byte
	for i := range min(sampleRuns, (blocks+run-1)/run) {
		at := (blocks - run) * i / max(min(sampleRuns, (blocks+run-1)/run)-1, 1)
		buffer := make([]byte, run*int64(size))
		if n, err := r.ReadAt(buffer, t.offset+at*int64(size)); n < len(buffer) {
			return nil, Loss{}, readError(err)
		}
		sample = append(sample, buffer...)
	}
	var loss Loss
	var chosen form
	for _, f := range a.forms {
		l, ok := a.measure(sample, size, f)
		chosen, loss = f, l
		if ok && l.RMS < maxError {
			break
		}
	}
	loss.Tensor, loss.Kind, loss.Bits = t.name, t.kind.String(), chosen.bits
	return a.packing(size, chosen), loss, nil
}
