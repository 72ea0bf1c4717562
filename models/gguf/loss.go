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

// A Loss is how far the weights of a tensor are from the file's. Steps are the rms steps of the
// file's own scales.
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
	maxSquare      float64 // the largest square
	elements       int
}

// join adds what another tally has.
func (t *tally) join(other tally) {
	t.squares, t.steps = t.squares+other.squares, t.steps+other.steps
	t.maxSquare, t.elements = max(t.maxSquare, other.maxSquare), t.elements+other.elements
}

// loss returns the loss of a tensor in a format.
func (t *tally) loss(of *tensor, bits int) Loss {
	l := Loss{Tensor: of.name, Kind: of.kind.String(), Bits: bits}
	if t.steps > 0 {
		rms := math.Sqrt(t.steps / float64(t.elements))
		l.RMS, l.Max = math.Sqrt(t.squares/float64(t.elements))/rms, math.Sqrt(t.maxSquare)/rms
	}
	return l
}

// A sample is sampleRuns runs of blocks, evenly spaced over a tensor.
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

// choose returns the first format whose loss in a tensor is small enough, or else the last, and that
// loss. It looks at a sample, or at the whole tensor.
func choose(r io.ReaderAt, t *tensor, whole bool) (*packing, Loss, error) {
	some, err := sample(r, t)
	if err != nil {
		return nil, Loss{}, err
	}
	formats := approximations[t.kind]
	for i := 0; ; i++ {
		p := formats[i].packing(t.kind)
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
		if good || i == len(formats)-1 {
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

// isLast reports whether p is the finest format of a kind.
func (p *packing) isLast(k kind) bool {
	formats := approximations[k]
	return affineFormat{p.bits, p.group, p.scale} == formats[len(formats)-1]
}
