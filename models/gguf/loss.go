package gguf

import (
	"fmt"
	"io"
	"math"
	"math/bits"
)

// Limits of the rms error of a tensor, in rms steps of its scales.
const (
	maxError       = 0.1
	maxSampleError = 0.095 // of a sample, which the whole tensor may exceed a little
)

// A Loss is how far the weights of a tensor are from the file's. Steps are those of the file's own
// scales, in their rms.
type Loss struct {
	Tensor string
	Kind   string
	Bits   int     // of an element in memory
	RMS    float64 // in steps
	Max    float64 // in steps
	Whole  bool    // every weight was measured; else a sample was
}

// A CoarseError says that a tensor needs more bits than a sample of it promised. The folder that
// [Folder.Refined] returns has enough.
type CoarseError struct{ Tensor string }

func (e *CoarseError) Error() string {
	return fmt.Sprintf("tensor %q needs more bits than a sample of it promised; load it again",
		e.Tensor)
}

// A tally sums up errors of elements.
type tally struct {
	squares, steps float64 // sums of squares
	most           float64 // the largest square
	elements       int
}

// Errors are computed in lanes of 16 bits, in steps of a group with so many bits of a fraction. One
// step is added, so that none is negative.
const (
	fixed   = 14
	oneStep = 1 << fixed
)

// A difference is a line less what it stands for, as a line: at + slope q, in such steps.
type difference struct{ at, slope int64 }

// differ returns the difference of a line to at + slope (q - middle), in such steps.
func (l line) differ(middle int64, at, slope float64) difference {
	drift := l.slope<<(fixed-8) - toWhole(slope)
	gap := (l.at+l.slope*middle)<<(fixed-8) - toWhole(at)
	return difference{gap + oneStep - drift*middle, drift}
}

// toWhole rounds a number that may be negative.
func toWhole(v float64) int64 { return int64(v+(1<<30+0.5)) - 1<<30 }

// fits reports whether all errors of a part fit their lanes, and returns what none of them exceeds.
// What a line loses by rounding down is less than a step.
func (d difference) fits(most int64) (bound int64, ok bool) {
	over := d.slope * most
	low, high := d.at+min(over, 0)-255<<(fixed-8), d.at+max(over, 0)
	return max(high-oneStep, oneStep-low), uint64(low|high) < 2*oneStep
}

// errors returns the errors of four elements x, which a line maps to y, in lanes.
func (d difference) errors(x, y uint64) uint64 {
	return uint64(d.at)*lanes + x*uint64(d.slope) - y&lowBytes<<(fixed-8)
}

// measure is apply for a part. It also returns the sums of the errors and of their squares, of the
// errors in halves.
func (l line) measure(d difference, words *[2]uint64) (errors, squares uint64) {
	for i, x := range words {
		steps, even, odd := l.apply(x)
		words[i] = steps
		e, s := addUp(d.errors(x&lowBytes, even))
		errors, squares = errors+e, squares+s
		e, s = addUp(d.errors(x>>8&lowBytes, odd))
		errors, squares = errors+e, squares+s
	}
	return errors, squares
}

// addUp returns the sums of four lanes, in halves, and of their squares. A product of two lanes with
// the same two, exchanged, has both squares in its upper half.
func addUp(lanes uint64) (sums, squares uint64) {
	const even = 0x0000ffff0000ffff
	a, b := lanes&even, lanes>>16&even
	return a + b, a*bits.RotateLeft64(a, 32)>>32 + b*bits.RotateLeft64(b, 32)>>32
}

// most returns the largest square of the errors of a part.
func (l line) most(d difference, words [2]uint64) (most int64) {
	for _, x := range words {
		_, even, odd := l.apply(x)
		for _, e := range [2]uint64{d.errors(x&lowBytes, even), d.errors(x>>8&lowBytes, odd)} {
			for s := 0; s < 64; s += 16 {
				v := int64(e>>s&0xffff) - oneStep
				most = max(most, v*v)
			}
		}
	}
	return most
}

// add maps the elements of a block's parts and adds the errors. Each joint has so many parts.
func (t *tally) add(a *approximation, b *superBlock, joints []joint, parts int) {
	t.addSteps(b)
	var differences [super / part16]difference
	for i := range joints {
		a.differ(b, i*parts, &joints[i], differences[i*parts:][:parts])
	}
	for i := range joints {
		j := &joints[i]
		unit := float64(j.scale) * float64(j.scale) / (1 << (2 * fixed))
		var errors, squares uint64
		n := 0
		for k, d := range differences[i*parts:][:parts] {
			l, part := j.lines[k], i*parts+k
			words := (*[2]uint64)(b.words[2*part:])
			bound, ok := d.fits(int64(a.most))
			if !ok {
				t.addSlowly(a, b, part, l, j, words)
				continue
			}
			if float64(bound*bound)*unit > t.most {
				t.most = max(t.most, float64(l.most(d, *words))*unit)
			}
			e, s := l.measure(d, words)
			errors, squares, n = errors+e, squares+s, n+part16
		}
		sum := int64(errors&math.MaxUint32 + errors>>32)
		t.squares += float64(int64(squares)-2*oneStep*sum+int64(n)<<(2*fixed)) * unit
	}
}

// differ sets the differences of a joint's lines to what the elements of its parts stand for, from
// the given part on.
func (a *approximation) differ(b *superBlock, from int, j *joint, to []difference) {
	inverse := oneStep / float64(j.scale)
	share, least, bias := float64(b.d)*inverse, float64(b.least)*inverse, float64(j.bias)*inverse
	middle := int64(max(a.zero, a.most/2)) // near which many elements are
	offset := float64(middle - int64(a.zero))
	for i := range to {
		slope := share * float64(b.share[from+i])
		at := slope*offset - least*float64(b.leastShare[from+i]) - bias
		to[i] = j.lines[i].differ(middle, at, slope)
	}
}

// addSlowly is add for a part of a group whose scale is 0, or next to it.
func (t *tally) addSlowly(a *approximation, b *superBlock, part int, l line, j *joint,
	words *[2]uint64) {
	for i, x := range words {
		words[i], _, _ = l.apply(x)
		for s := 0; s < 64; s += 8 {
			got := float64(j.scale)*float64(words[i]>>s&255) + float64(j.bias)
			e := got - a.value(b, part, x>>s&255)
			t.squares += e * e
			t.most = max(t.most, e*e)
		}
	}
}

// addSteps adds the steps of a block's parts.
func (t *tally) addSteps(b *superBlock) {
	squares := int32(0)
	for _, s := range b.share {
		squares += s * s
	}
	t.steps += float64(b.d) * float64(b.d) * float64(squares) * part16
	t.elements += super
}

// join adds what another tally has.
func (t *tally) join(other tally) {
	t.squares, t.steps = t.squares+other.squares, t.steps+other.steps
	t.most, t.elements = max(t.most, other.most), t.elements+other.elements
}

// loss returns the loss of a tensor in a form.
func (t *tally) loss(of *tensor, bits int) Loss {
	l := Loss{Tensor: of.name, Kind: of.kind.String(), Bits: bits}
	if t.steps > 0 {
		rms := math.Sqrt(t.steps / float64(t.elements))
		l.RMS, l.Max = math.Sqrt(t.squares/float64(t.elements))/rms, math.Sqrt(t.most)/rms
	}
	return l
}

// A sample is so many runs of blocks, evenly spaced over a tensor.
const (
	sampleRuns = 16
	sampleRun  = 16 // blocks
)

// sample returns blocks of a tensor, spread over it.
func sample(r io.ReaderAt, t *tensor) ([]byte, error) {
	size := int64(t.kind.bytes())
	blocks := t.bytes / size
	run := min(blocks, sampleRun)
	runs := min(sampleRuns, (blocks+run-1)/run)
	sample := make([]byte, 0, runs*run*size)
	for i := range runs {
		at := (blocks - run) * i / max(runs-1, 1)
		buffer := sample[len(sample) : len(sample)+int(run*size)]
		if n, err := r.ReadAt(buffer, t.offset+at*size); n < len(buffer) {
			return nil, readError(err)
		}
		sample = sample[:len(sample)+len(buffer)]
	}
	return sample, nil
}

// choose returns the first form whose loss in a tensor is small enough, or else the last, and that
// loss. It looks at a sample, or at the whole tensor.
func (a *approximation) choose(r io.ReaderAt, t *tensor, whole bool) (*packing, Loss, error) {
	size := t.kind.bytes()
	some, err := sample(r, t)
	if err != nil {
		return nil, Loss{}, err
	}
	for i := 0; ; i++ {
		p := a.packing(size, a.forms[i])
		var sum tally
		ok := p.pack(packed{tally: &sum}, some)
		loss := sum.loss(t, p.bits)
		good := ok && loss.RMS < maxSampleError
		if good && whole {
			if sum, ok, err = p.measure(r, t); err != nil {
				return nil, Loss{}, err
			}
			loss = sum.loss(t, p.bits)
			loss.Whole = true
			good = ok && loss.RMS < maxSampleError
		}
		if good || i == len(a.forms)-1 {
			return p, loss, nil
		}
	}
}

// measure returns the errors of a whole tensor, and whether its scales are finite.
func (p *packing) measure(r io.ReaderAt, t *tensor) (sum tally, ok bool, err error) {
	size := int64(t.kind.bytes())
	buffer := make([]byte, chunkBytes/size*size)
	ok = true
	for at := int64(0); at < t.bytes; at += int64(len(buffer)) {
		buffer = buffer[:min(int64(len(buffer)), t.bytes-at)]
		if n, err := r.ReadAt(buffer, t.offset+at); n < len(buffer) {
			return sum, false, readError(err)
		}
		ok = p.pack(packed{tally: &sum}, buffer) && ok
	}
	return sum, ok, nil
}

// isLast reports whether no form of a kind is finer.
func (p *packing) isLast(k kind) bool {
	forms := approximations[k].forms
	return form{p.bits, p.group, p.scale} == forms[len(forms)-1]
}
