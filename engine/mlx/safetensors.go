package mlx

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"unsafe"
)

// Tensors is a safetensors file whose header has been read and checked. Names, Info, Metadata and
// Data may be called from any goroutine; Load is called on the thread.
type Tensors struct {
	r        io.ReaderAt
	infos    map[string]TensorInfo
	metadata map[string]string
	header   int64 // bytes
}

// OpenTensors reads and checks the header of a safetensors file of size bytes. r must stay readable
// as long as tensors are loaded. The error is one sentence about the file, without its name; it is
// a [*TruncatedError] if the file is cut short.
func OpenTensors(r io.ReaderAt, size int64) (*Tensors, error) {
	var prefix [8]byte
	if size < int64(len(prefix)) {
		return nil, &TruncatedError{int64(len(prefix)) - size}
	}
	if _, err := r.ReadAt(prefix[:], 0); err != nil {
		return nil, fmt.Errorf("read the safetensors header: %w", err)
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > MaxSafetensorsHeader {
		return nil, fmt.Errorf("not a safetensors file: it claims a header of %d bytes, at most %d are allowed",
			n, MaxSafetensorsHeader)
	}
	dataStart := int64(len(prefix)) + int64(n)
	if missing := dataStart - size; missing > 0 {
		return nil, &TruncatedError{missing}
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, int64(len(prefix))); err != nil {
		return nil, fmt.Errorf("read the safetensors header: %w", err)
	}
	h, err := parseHeader(text, dataStart, size)
	if err != nil {
		return nil, err
	}
	t := &Tensors{r: r, infos: make(map[string]TensorInfo, len(h.tensors)), metadata: h.metadata,
		header: dataStart}
	for _, info := range h.tensors {
		t.infos[info.Name] = info
	}
	return t, nil
}

// From returns the same tensors with a file to read them from: the same file, opened anew. A nil r is
// for their header alone.
func (t *Tensors) From(r io.ReaderAt) *Tensors {
	return &Tensors{r, t.infos, t.metadata, t.header}
}

// Names returns the names of the tensors, sorted.
func (t *Tensors) Names() []string { return slices.Sorted(maps.Keys(t.infos)) }

// Len returns the number of tensors.
func (t *Tensors) Len() int { return len(t.infos) }

// HeaderBytes returns the size of the header. In memory it takes about three times as much.
func (t *Tensors) HeaderBytes() int64 { return t.header }

// Info describes the tensor of that name.
func (t *Tensors) Info(name string) (TensorInfo, bool) {
	info, ok := t.infos[name]
	return info, ok
}

// Metadata returns the header's __metadata__. The map is shared: do not write to it.
func (t *Tensors) Metadata() map[string]string { return t.metadata }

// Data reads the bytes of one tensor, as they are in the file.
func (t *Tensors) Data(name string) ([]byte, error) {
	info, ok := t.infos[name]
	if !ok {
		return nil, fmt.Errorf("the file has no tensor %q", name)
	}
	b := make([]byte, info.Bytes)
	if n, err := t.r.ReadAt(b, info.offset); n < len(b) {
		return nil, fmt.Errorf("read tensor %q: %w", name, err)
	}
	return b, nil
}

// Load reads one tensor as an array of the scope. The memory that it is read into is the array's own
// on Metal, and on Linux. The scope fails if the file lacks the tensor, cannot be read, or has a type
// that MLX does not have.
func (t *Tensors) Load(s *Scope, name string) *Array {
	info, ok := t.infos[name]
	if !ok {
		s.Fail(fmt.Errorf("the file has no tensor %q", name))
		return s.failed
	}
	dtype, ok := parseDtype(info.Dtype)
	if !ok {
		s.Fail(fmt.Errorf("tensor %q has type %s, which MLX does not compute with",
			name, info.Dtype))
		return s.failed
	}
	if !s.ready() {
		return s.failed
	}
	return t.load(s, info, dtype)
}

// fill reads the bytes of a tensor to p. It reports false if the scope fails.
func (t *Tensors) fill(s *Scope, info TensorInfo, p unsafe.Pointer) bool {
	if n, err := t.r.ReadAt(unsafe.Slice((*byte)(p), info.Bytes),
		info.offset); int64(n) < info.Bytes {
		s.Fail(fmt.Errorf("read tensor %q: %w", info.Name, err))
		return false
	}
	return true
}
