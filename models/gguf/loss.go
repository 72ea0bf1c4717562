package gguf

import (
	"fmt"
	"io"
	"math"
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

// fixed is how many bits of a fraction add has, and maxFixed bounds its lines: so the squares of 16
// errors fit 64 bits.
const (
	fixed    = 18
	maxFixed = 1 << 27
)

// add adds the elements of a part: q in the file and k in a group.
func (t *tally) add(a *approximation, b *superBlock, part int, j *joint, q, k [2]uint64) {
	step := float64(b.d * float32(b.share[part]))
	t.steps += step * step * part16
	t.elements += part16
	at := (a.value(b, part, 0) - float64(j.bias)) * j.inverse
	slope := step * j.inverse
	if !(math.Abs(at) < maxFixed && math.Abs(slope)*float64(a.most) < maxFixed) {
		t.addSlowly(a, b, part, j, q, k)
		return
	}
	// An error is k - (at + slope q), in steps of the group.
	x, m := toFixed(at), toFixed(slope)
	var squares, most uint64
	for i, q := range q {
		k := k[i]
		for range 4 { // two at a time
			e := int64(k&255<<fixed) - x - m*int64(q&255)
			f := int64(k>>8&255<<fixed) - x - m*int64(q>>8&255)
			c, d := uint64(e*e), uint64(f*f)
			squares += c + d
			most = max(most, c, d)
			q, k = q>>16, k>>16
		}
	}
	unit := float64(j.scale) * float64(j.scale) / (1 << (2 * fixed))
	t.squares += float64(squares) * unit
	t.most = max(t.most, float64(most)*unit)
}

// toFixed rounds a number of add.
func toFixed(v float64) int64 { return int64(v+(maxFixed+0.5)) - maxFixed }

// addSlowly is add for groups whose scale is 0, or next to it.
func (t *tally) addSlowly(a *approximation, b *superBlock, part int, j *joint, q, k [2]uint64) {
	for i := range q {
		for s := 0; s < 64; s += 8 {
			got := float64(j.scale)*float64(k[i]>>s&255) + float64(j.bias)
			e := got - a.value(b, part, q[i]>>s&255)
			t.squares += e * e
			t.most = max(t.most, e*e)
		}
	}
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
