package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
)

// Limits of a header. The largest published ones have 4,000 tensors, 60 entries, 1.4 million
// elements in all arrays and 20 MB.
const (
	maxHeader    = 64 << 20 // bytes
	maxTensors   = 1 << 13
	maxEntries   = 1 << 12 // of metadata
	maxElements  = 1 << 22 // of all arrays together
	maxString    = 4 << 20 // bytes; chat templates are the longest
	maxName      = 128     // bytes of a key or of a tensor's name
	maxAlignment = 1 << 16
	maxDims      = 4
)

// defaultAlignment is the alignment of tensors in a file that names no other.
const defaultAlignment = 32

// A header is the header of a GGUF file: metadata, and the place of each tensor.
type header struct {
	metadata metadata
	tensors  []tensor // in file order
}

// A tensor is one tensor of a file.
type tensor struct {
	name   string
	kind   kind
	shape  []int // the longest stride first, as in safetensors
	offset int64 // in the file
	bytes  int64
	file   int // index of its file
}

// rows returns how many rows a tensor has, of all experts together.
func (t *tensor) rows() int {
	n := 1
	for _, d := range t.shape[:len(t.shape)-1] {
		n *= d
	}
	return n
}

// width returns the elements of a row.
func (t *tensor) width() int { return t.shape[len(t.shape)-1] }

// readHeader reads and checks the header of a GGUF file of size bytes. Its errors are one sentence
// about the file, without the file's name.
func readHeader(r io.ReaderAt, size int64) (*header, error) {
	in := &reader{left: min(size, maxHeader), size: size, elements: maxElements}
	in.r = bufio.NewReaderSize(io.NewSectionReader(r, 0, in.left), 1<<16)
	h, err := in.header()
	if err != nil {
		return nil, err
	}
	return h, h.resolveOffsets(in.at, size)
}

// A reader reads the parts of a header and knows how much of the file is left for them.
type reader struct {
	r        *bufio.Reader
	at       int64  // bytes read
	left     int64  // bytes that may still be read
	size     int64  // of the file
	elements uint64 // of arrays, that may still be read
}

func (in *reader) header() (*header, error) {
	if magic, err := in.r.Peek(4); err != nil || string(magic) != "GGUF" {
		return nil, ErrFormat
	}
	magic, err := in.readBytes(8)
	if err != nil {
		return nil, err
	}
	version := binary.LittleEndian.Uint32(magic[4:])
	switch {
	case version>>16 != 0 && version&0xffff == 0:
		return nil, unsupported("is a GGUF file for big-endian machines, which is not supported; " +
			"take the one for little-endian machines")
	case version != 2 && version != 3:
		return nil, unsupported("is a GGUF file of version %d; supported are 2 and 3", version)
	}
	tensors, err := in.count("tensors", maxTensors, 8+4+8+4+8)
	if err != nil {
		return nil, err
	}
	entries, err := in.count("entries of metadata", maxEntries, 8+4+1)
	if err != nil {
		return nil, err
	}
	h := &header{metadata: metadata{}}
	for range entries {
		if err := in.entry(h.metadata); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for range tensors {
		t, err := in.tensor()
		if err != nil {
			return nil, err
		}
		if seen[t.name] {
			return nil, damaged("it has the tensor %q twice", t.name)
		}
		seen[t.name] = true
		h.tensors = append(h.tensors, t)
	}
	return h, nil
}

// readBytes reads n bytes.
func (in *reader) readBytes(n int64) ([]byte, error) {
	if err := in.checkRemaining(n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in.r, b); err != nil {
		return nil, readError(err)
	}
	in.at, in.left = in.at+n, in.left-n
	return b, nil
}

// readError words the error of a file that got shorter after it was opened, or that can't be read.
func readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file changed while it was read; try again")
	}
	return err
}

// checkRemaining refuses a part of n bytes that the file does not have.
func (in *reader) checkRemaining(n int64) error {
	switch {
	case n <= in.left:
		return nil
	case in.at+in.left < in.size:
		return damaged("it is larger than %d MiB", maxHeader>>20)
	}
	return &TruncatedError{n - in.left}
}

func (in *reader) uint32() (uint32, error) {
	b, err := in.readBytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (in *reader) uint64() (uint64, error) {
	b, err := in.readBytes(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads a number of items of at least bytes each, at most most.
func (in *reader) count(what string, limit uint64, bytes int64) (int64, error) {
	n, err := in.uint64()
	if err != nil {
		return 0, err
	}
	if n > limit {
		return 0, damaged("it claims %d %s, at most %d are allowed", n, what, limit)
	}
	return int64(n), in.checkRemaining(int64(n) * bytes)
}

// readString reads a string of at most most bytes.
func (in *reader) readString(limit uint64) (string, error) {
	n, err := in.count("bytes of a text", limit, 1)
	if err != nil {
		return "", err
	}
	b, err := in.readBytes(n)
	return string(b), err
}

// name reads the name of a tensor or a key.
func (in *reader) name() (string, error) {
	name, err := in.readString(maxName)
	if err == nil && (name == "" || strings.ContainsFunc(name, func(c rune) bool {
		return c < ' ' || c > '~'
	})) {
		return "", damaged("%q is no name", name)
	}
	return name, err
}

// tensor reads the header's entry for one tensor.
func (in *reader) tensor() (t tensor, err error) {
	if t.name, err = in.name(); err != nil {
		return t, err
	}
	dims, err := in.uint32()
	if err != nil {
		return t, err
	}
	if dims < 1 || dims > maxDims {
		return t, damaged("tensor %q has %d dimensions; 1 to %d are allowed", t.name, dims, maxDims)
	}
	elements := int64(1)
	for range dims {
		d, err := in.uint64()
		if err != nil {
			return t, err
		}
		if d < 1 || d > math.MaxInt32 || int64(d) > math.MaxInt64/64/elements {
			return t, damaged("tensor %q has an extent of %d", t.name, d)
		}
		elements *= int64(d)
		t.shape = append(t.shape, int(d))
	}
	slices.Reverse(t.shape)
	number, err := in.uint32()
	if err != nil {
		return t, err
	}
	if t.kind = kind(number); t.kind.block() == 0 {
		return t, unsupported("tensor %q is of %v, which is not supported; "+
			"take another quantization, such as Q4_K_M; supported are %s",
			t.name, t.kind, supportedKinds())
	}
	if t.width()%t.kind.block() != 0 {
		return t, damaged("tensor %q has rows of %d elements, which %v packs in blocks of %d",
			t.name, t.width(), t.kind, t.kind.block())
	}
	t.bytes = elements / int64(t.kind.block()) * int64(t.kind.bytes())
	offset, err := in.uint64()
	if err != nil {
		return t, err
	}
	if offset > math.MaxInt64/2 {
		return t, damaged("tensor %q begins beyond any file", t.name)
	}
	t.offset = int64(offset)
	return t, nil
}

// resolveOffsets turns offsets from the start of the data into offsets in the file. end is the end of the
// header. It refuses tensors that overlap or that the file does not hold.
func (h *header) resolveOffsets(end, size int64) error {
	alignment, err := h.metadata.uint("general.alignment", defaultAlignment, maxAlignment)
	if err != nil {
		return err
	}
	a := int64(alignment)
	if a < 1 || a&(a-1) != 0 {
		return damaged("general.alignment is %d, which is no power of two", a)
	}
	start := (end + a - 1) / a * a
	slices.SortStableFunc(h.tensors, func(x, y tensor) int {
		return int(min(max(x.offset-y.offset, -1), 1))
	})
	last := int64(0)
	for i := range h.tensors {
		t := &h.tensors[i]
		switch {
		case t.offset%a != 0:
			return damaged("tensor %q does not begin at a multiple of %d", t.name, a)
		case t.offset < last:
			return damaged("tensors %q and %q overlap", h.tensors[i-1].name, t.name)
		case t.bytes > math.MaxInt64/2-start-t.offset:
			return damaged("tensor %q ends beyond any file", t.name)
		}
		last = t.offset + t.bytes
		t.offset += start
	}
	if missing := start + last - size; len(h.tensors) > 0 && missing > 0 {
		return &TruncatedError{missing}
	}
	return nil
}
