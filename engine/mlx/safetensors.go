package mlx

/*
#include <stdlib.h>
#include "mlx/c/mlx.h"

static mlx_array tandem_new_managed(void* data, const int* shape, int dim, mlx_dtype dtype) {
	return mlx_array_new_data_managed(data, shape, dim, dtype, free);
}

// tandem_page_alloc returns whole pages, which Metal can use without a copy.
static void* tandem_page_alloc(size_t bytes, size_t page) {
	void* p = NULL;
	size_t n = (bytes + page - 1) / page * page;
	return posix_memalign(&p, page, n > 0 ? n : page) == 0 ? p : NULL;
}
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"unsafe"
)

// Tensors is a safetensors file whose header has been read and checked. Names, Info, Metadata and
// Data may be called from any goroutine; Load is called on the thread.
type Tensors struct {
	r        io.ReaderAt
	infos    map[string]TensorInfo
	metadata map[string]string
	staging  []byte // of the tensor that Load reads, on the CPU
}

// maxStaging bounds the memory that Load keeps from one tensor to the next. A larger tensor gets
// memory of its own.
const maxStaging = 64 << 20

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
	t := &Tensors{r: r, infos: make(map[string]TensorInfo, len(h.tensors)), metadata: h.metadata}
	for _, info := range h.tensors {
		t.infos[info.Name] = info
	}
	return t, nil
}

// Names returns the names of the tensors, sorted.
func (t *Tensors) Names() []string { return slices.Sorted(maps.Keys(t.infos)) }

// Len returns the number of tensors.
func (t *Tensors) Len() int { return len(t.infos) }

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

// Load reads one tensor into memory of its own and returns it as an array of the scope. On Metal
// the array uses that memory; on the CPU MLX copies it. The scope fails if the file lacks the
// tensor, cannot be read, or has a type that MLX does not have.
func (t *Tensors) Load(s *Scope, name string) *Array {
	info, ok := t.infos[name]
	if !ok {
		s.Fail(fmt.Errorf("the file has no tensor %q", name))
		return s.dead
	}
	dtype, ok := parseDtype(info.Dtype)
	if !ok {
		s.Fail(fmt.Errorf("tensor %q has type %s, which MLX does not compute with",
			name, info.Dtype))
		return s.dead
	}
	if !s.ready() {
		return s.dead
	}
	if !s.t.GPU() && info.Bytes > 0 && info.Bytes <= maxStaging {
		return t.copied(s, info, dtype)
	}
	p := C.tandem_page_alloc(C.size_t(info.Bytes), C.size_t(os.Getpagesize()))
	if p == nil {
		s.Fail(fmt.Errorf("no memory for the %d bytes of tensor %q", info.Bytes, name))
		return s.dead
	}
	if n, err := t.r.ReadAt(unsafe.Slice((*byte)(p), info.Bytes),
		info.offset); int64(n) < info.Bytes {
		C.free(p)
		s.Fail(fmt.Errorf("read tensor %q: %w", name, err))
		return s.dead
	}
	var d dims
	a := s.new()
	a.c = C.tandem_new_managed(p, d.set(info.Shape), C.int(len(info.Shape)), C.mlx_dtype(dtype))
	return s.made(a)
}

// copied reads a tensor into the staging memory, of which MLX makes a copy. Fresh memory for each
// tensor would cost more than the copy.
func (t *Tensors) copied(s *Scope, info TensorInfo, dtype Dtype) *Array {
	if int64(len(t.staging)) < info.Bytes {
		t.staging = nil // before there is more
		t.staging = make([]byte, info.Bytes)
	}
	data := t.staging[:info.Bytes]
	if n, err := t.r.ReadAt(data, info.offset); n < len(data) {
		s.Fail(fmt.Errorf("read tensor %q: %w", info.Name, err))
		return s.dead
	}
	var d dims
	a := s.new()
	a.c = C.mlx_array_new_data(unsafe.Pointer(unsafe.SliceData(data)), d.set(info.Shape),
		C.int(len(info.Shape)), C.mlx_dtype(dtype))
	return s.made(a)
}
