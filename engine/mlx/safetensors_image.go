package mlx

/*
#include "mlx/c/mlx.h"
*/
import "C"

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unsafe"
)

// A NamedArray is an array and its name in a file.
type NamedArray struct {
	Name  string
	Array *Array
}

// A TensorImage is the contents of a safetensors file that is still to be written. It keeps the
// arrays, evaluated and in row order. So any goroutine can read their bytes while the thread goes
// on. Nothing may write to them in place. Free it on the thread.
type TensorImage struct {
	tensors []imageTensor
}

type imageTensor struct {
	name  string
	array *Array // kept
	dtype Dtype
	shape []int
	data  []byte // MLX's
}

// Tensors evaluates the arrays and makes the image of a file with them in the given order. An array
// that is not in row order is copied first; others are shared. Two arrays of one name are refused.
func (s *Scope) Tensors(tensors []NamedArray) (*TensorImage, error) {
	f := &TensorImage{}
	seen := map[string]bool{"__metadata__": true}
	for _, t := range tensors {
		if seen[t.Name] {
			f.Free()
			return nil, fmt.Errorf("write safetensors: %q comes twice", t.Name)
		}
		seen[t.Name] = true
		a := s.Keep(s.Contiguous(t.Array))
		f.tensors = append(f.tensors, imageTensor{name: t.Name, array: a})
	}
	for i := range f.tensors {
		t := &f.tensors[i]
		p, err := s.data(t.array)
		if err != nil {
			f.Free()
			return nil, err
		}
		t.dtype, t.shape = t.array.Dtype(), t.array.Shape()
		t.data = unsafe.Slice((*byte)(p), t.array.Bytes())
	}
	return f, nil
}

// Free releases the arrays.
func (f *TensorImage) Free() {
	for _, t := range f.tensors {
		t.array.Free()
	}
	f.tensors = nil
}

// Bytes returns the size of the arrays.
func (f *TensorImage) Bytes() int64 {
	n := int64(0)
	for _, t := range f.tensors {
		n += int64(len(t.data))
	}
	return n
}

// Each calls fn with the bytes of each array, in the file's order.
func (f *TensorImage) Each(fn func(name string, data []byte)) {
	for _, t := range f.tensors {
		fn(t.name, t.data)
	}
}

// Write writes the file. It may be called from any goroutine.
func (f *TensorImage) Write(w io.Writer, metadata map[string]string) error {
	type entry struct {
		Dtype   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	// The JSON is built by hand, because maps lose the order.
	text := []byte("{")
	field := func(name string, v any) error {
		if len(text) > 1 {
			text = append(text, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		value, err := json.Marshal(v)
		text = slices.Concat(text, key, []byte(":"), value)
		return err
	}
	if metadata != nil {
		if err := field("__metadata__", metadata); err != nil {
			return err
		}
	}
	end := int64(0)
	for _, t := range f.tensors {
		begin := end
		end += int64(len(t.data))
		if err := field(t.name, entry{t.dtype.String(), t.shape,
			[2]int64{begin, end}}); err != nil {
			return err
		}
	}
	text = append(text, '}')
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	parts := [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text}
	for _, t := range f.tensors {
		parts = append(parts, t.data)
	}
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("write safetensors: %w", err)
		}
	}
	return nil
}

// WriteTensors evaluates the arrays and writes a safetensors file with them in the given order.
func (s *Scope) WriteTensors(w io.Writer, tensors []NamedArray, metadata map[string]string) error {
	f, err := s.Tensors(tensors)
	if err != nil {
		return err
	}
	defer f.Free()
	return f.Write(w, metadata)
}
