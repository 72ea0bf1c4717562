package gguf

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A source is a tensor and what becomes of it.
type source struct {
	tensor
	to string // its name in Hugging Face's form, with .weight or .bias

	packing *packing // nil for a plain type

	// half, if not 0, says that the rows of each head of 2 half rows are interleaved. They are put
	// back into halves.
	half int

	heads  *headOrder // of the rows, or nil
	across *headOrder // of the columns

	shift float32 // what is taken from each element of a plain F32
	log   bool    // the elements of a plain F32 are below 0, and become the logarithms of their sizes
}

// rows returns how many rows the tensor is read as. A vector whose elements change places has rows
// of one element.
func (t *source) rows() int {
	if (t.half > 0 || t.heads != nil) && len(t.shape) == 1 {
		return t.shape[0]
	}
	return t.tensor.rows()
}

// rowBytes returns the bytes of a row in the file.
func (t *source) rowBytes() int64 { return t.bytes / int64(t.rows()) }

// from returns the row of the file that becomes row i.
func (t *source) from(i int) int {
	if t.half == 0 {
		return i
	}
	head, j := i/(2*t.half), i%(2*t.half)
	return head*2*t.half + j%t.half*2 + j/t.half
}

// loses reports whether the weights that are shown only come near the file's.
func (t *source) loses() bool { return t.kind.isApproximated() && t.packing.group > 16 }

// module returns the path of a weight's module.
func (t *source) module() string { return t.to[:len(t.to)-len(".weight")] }

// A part says which of the tensors made of one source it is.
type part int

const (
	whole part = iota // plain elements
	weight
	scales
	biases
)

// An entry is a tensor of the safetensors file that is shown.
type entry struct {
	*source
	part   part
	name   string
	dtype  string
	shape  []int
	offset int64 // in the shown file
	size   int64 // bytes
}

// shownBytes returns the bytes of a row as it is shown.
func (e *entry) shownBytes() int64 { return e.size / int64(e.rows()) }

// layout returns the entries made of sources, and the header of a safetensors file with them.
func layout(sources []*source) (header []byte, entries []*entry) {
	at := int64(0)
	add := func(t *source, p part, name, dtype string, last int, size int64) {
		shape := append(slices.Clone(t.shape[:len(t.shape)-1]), last)
		for _, d := range shape {
			size *= int64(d)
		}
		entries = append(entries, &entry{t, p, name, dtype, shape, at, size})
		at += size
	}
	for _, t := range sources {
		p := t.packing
		if p == nil {
			add(t, whole, t.to, plainTypes[t.kind], t.width(), int64(t.kind.bytes()))
			continue
		}
		groups := t.width() / p.group
		add(t, weight, t.to, "U32", groups*p.group*p.bits/32, 4)
		add(t, scales, t.module()+".scales", p.scale, groups, int64(scaleBytes[p.scale]))
		if p.mode == "affine" { // no other mode has biases
			add(t, biases, t.module()+".biases", p.scale, groups, int64(scaleBytes[p.scale]))
		}
	}
	// Its norms are as a conversion to MLX has them, see qwen35.MTP.
	text := []byte(`{"__metadata__":{"format":"mlx"}`)
	for _, e := range entries {
		text = append(text, ',')
		name, _ := json.Marshal(e.name) // printable ASCII always marshals
		shape, _ := json.Marshal(e.shape)
		text = fmt.Appendf(text, `%s:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`,
			name, e.dtype, shape, e.offset, e.offset+e.size)
	}
	text = append(text, '}')
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	header = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	for _, e := range entries {
		e.offset += int64(len(header))
	}
	return header, entries
}

// weights are the bytes of the shown model.safetensors. Any goroutine may read them. A read of one
// whole tensor is repacked into the caller's memory, by as many goroutines as there are processors.
type weights struct {
	header  []byte
	entries []*entry
	files   []io.ReaderAt

	measured func(Loss) // called for each tensor that loses something and is read whole

	mu    sync.Mutex
	side  *sideTensors
	spare [2][]byte // memory of earlier scales and biases
}

// maxSpare bounds the memory that is kept for the scales of the next tensor, and for its biases.
const maxSpare = 16 << 20

// sideMemory returns memory for n bytes of scales or of biases.
func (w *weights) sideMemory(i, n int) []byte {
	if n > maxSpare {
		return make([]byte, n)
	}
	if len(w.spare[i]) < n {
		w.spare[i] = make([]byte, n)
	}
	return w.spare[i][:n]
}

// sideTensors are scales and biases that came along when the weight of the same source was read.
// The reader asks for them next.
type sideTensors struct {
	source         *source
	scales, biases []byte

	mu    sync.Mutex
	tally tally // of an approximation
}

// ReadAt implements io.ReaderAt.
func (w *weights) ReadAt(p []byte, off int64) (int, error) {
	done := 0
	if off < int64(len(w.header)) {
		done = copy(p, w.header[off:])
	}
	for done < len(p) {
		e := w.entryAt(off + int64(done))
		if e == nil {
			return done, io.EOF
		}
		n, err := w.read(e, p[done:], off+int64(done)-e.offset)
		if done += n; err != nil {
			return done, fmt.Errorf("%s: %w", e.tensor.name, err)
		}
	}
	return done, nil
}

// entryAt returns the entry that has the byte at off, or nil beyond the end.
func (w *weights) entryAt(off int64) *entry {
	i, _ := slices.BinarySearchFunc(w.entries, off, func(e *entry, off int64) int {
		if e.offset+e.size <= off {
			return -1
		}
		return 1
	})
	if i == len(w.entries) {
		return nil
	}
	return w.entries[i]
}

// read reads into p what there is of an entry from off on.
func (w *weights) read(e *entry, p []byte, off int64) (int, error) {
	p = p[:min(int64(len(p)), e.size-off)]
	if int64(len(p)) == e.size {
		if err := w.readWhole(e, p); err != nil {
			return 0, err // a reader may pass over the error of a read that is complete
		}
		return len(p), nil
	}
	row := e.shownBytes()
	unit := int64(e.unit())
	first := off / row / unit * unit
	last := ((off+int64(len(p))+row-1)/row + unit - 1) / unit * unit
	rows := make([]byte, (last-first)*row)
	if err := w.readRows(e, rows, int(first), int(last), nil); err != nil {
		return 0, err
	}
	return copy(p, rows[off-first*row:]), nil
}

// readWhole reads a whole entry into p.
func (w *weights) readWhole(e *entry, p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var kept []byte
	switch {
	case w.side == nil || w.side.source != e.source:
	case e.part == scales:
		kept, w.side.scales = w.side.scales, nil
	case e.part == biases:
		kept, w.side.biases = w.side.biases, nil
	}
	if kept != nil {
		copy(p, kept)
		return nil
	}
	w.side = nil
	var side *sideTensors
	if e.part == weight {
		n := e.sideBytes(e.rows())
		side = &sideTensors{source: e.source, scales: w.sideMemory(0, n), biases: w.sideMemory(1, n)}
	}
	err := w.readRows(e, p, 0, e.rows(), side)
	if side != nil && e.loses() && (err == nil || err == errScale) {
		loss := side.tally.loss(&e.tensor, e.packing.bits)
		if (err != nil || loss.RMS >= maxError) && !e.packing.isLast(e.kind) {
			return &CoarseError{e.tensor.name}
		}
		if err == nil {
			loss.Whole = true
			w.measured(loss)
		}
	}
	if err == nil { // else they are half written
		w.side = side
	}
	return err
}

// add adds the errors of some rows.
func (s *sideTensors) add(sum *tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.join(*sum)
}

// sideBytes returns the bytes of the scales of rows of a packed tensor.
func (t *source) sideBytes(rows int) int {
	p := t.packing
	return rows * t.width() / p.group * scaleBytes[p.scale]
}

// chunkBytes is about how much of a file one goroutine reads at a time. It fits the cache of a
// core.
const chunkBytes = 256 << 10

// unit returns how many rows must be read together.
func (t *source) unit() int { return max(1, 2*t.half) }

// readRows reads the rows [first, last) of an entry into p. side, if not nil, gets their scales and
// biases.
func (w *weights) readRows(e *entry, p []byte, first, last int, side *sideTensors) error {
	chunk := max(1, int(chunkBytes/e.source.rowBytes())/e.unit()) * e.unit()
	count := (last - first + chunk - 1) / chunk
	var next atomic.Int64
	work := func() error {
		var buffers [2][]byte
		for {
			i := int(next.Add(1)) - 1
			if i >= count {
				return nil
			}
			from := first + i*chunk
			to := min(from+chunk, last)
			src, err := w.readSource(e.source, &buffers, from, to)
			if err != nil {
				return err
			}
			row := int(e.shownBytes())
			if err := e.repack(p[(from-first)*row:(to-first)*row], src, side, from, to); err != nil {
				return err
			}
		}
	}
	workers := min(runtime.GOMAXPROCS(0), count)
	errs := make([]error, workers)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { errs[i] = work() })
	}
	wait.Wait()
	return cmp.Or(errs...)
}

// readSource reads the rows [from, to) of the file, and puts them into the order in which they are
// shown. The result is valid until buffers are used again.
func (w *weights) readSource(t *source, buffers *[2][]byte, from, to int) ([]byte, error) {
	row := t.rowBytes()
	n := int64(to-from) * row
	for i, b := range buffers {
		if int64(len(b)) < n && (i == 0 || t.half > 0) {
			buffers[i] = make([]byte, n)
		}
	}
	src := buffers[0][:n]
	if t.heads != nil {
		return src, w.readHeads(t, src, from, to)
	}
	if got, err := w.files[t.file].ReadAt(src, t.offset+int64(from)*row); got < len(src) {
		return nil, readError(err)
	}
	if t.half == 0 {
		return src, nil
	}
	ordered := buffers[1][:n]
	for i := from; i < to; i++ {
		at := int64(t.from(i)-from) * row
		copy(ordered[int64(i-from)*row:], src[at:at+row])
	}
	return ordered, nil
}

// repack writes the rows [from, to) of an entry, whose blocks are src, to out.
func (e *entry) repack(out, src []byte, side *sideTensors, from, to int) error {
	if e.packing == nil {
		copy(out, src)
		e.across.restore(out, to-from)
		return e.restoreElements(out)
	}
	var p packed
	switch e.part {
	case weight:
		p.weights = out
		if side != nil {
			if e.loses() {
				p.tally = &tally{}
				defer side.add(p.tally)
			}
			a, b := e.sideBytes(from), e.sideBytes(to)
			p.scales, p.biases = side.scales[a:b], side.biases[a:b]
		}
	case scales:
		p.scales, p.biases = out, make([]byte, len(out))
	case biases:
		p.scales, p.biases = make([]byte, len(out)), out
	}
	if !e.packing.pack(p, src) {
		return errScale
	}
	for _, part := range [][]byte{p.weights, p.scales, p.biases} {
		e.across.restore(part, to-from)
	}
	return nil
}

// restoreElements undoes what was done to each element of a plain F32.
func (t *source) restoreElements(elements []byte) error {
	if t.shift == 0 && !t.log {
		return nil
	}
	for i := 0; i < len(elements); i += 4 {
		v := math.Float32frombits(little.Uint32(elements[i:])) - t.shift
		if t.log {
			if !(v < 0) {
				return errDecay
			}
			v = float32(math.Log(-float64(v)))
		}
		putFloat(elements[i:], v)
	}
	return nil
}
