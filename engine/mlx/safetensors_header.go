package mlx

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Limits of a safetensors file. A file beyond them is refused.
const (
	MaxSafetensorsHeader = 100 << 20 // bytes, the format's own limit
	MaxTensors           = 1 << 15   // three times the most of any published file
	MaxTensorDims        = maxDims

	maxMetadata = 1 << 12 // entries of __metadata__
)

// A TensorInfo describes one tensor of a safetensors file.
type TensorInfo struct {
	Name  string
	Dtype string // the file's spelling, such as BF16; MLX may not have it
	Shape []int
	Bytes int64

	offset int64 // in the file
}

// Size returns the number of elements.
func (t TensorInfo) Size() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= int64(d)
	}
	return n
}

// tensorBits holds the bits per element of every type that the format names. Types that MLX cannot
// load are in it, so that any valid file can be listed.
var tensorBits = map[string]int64{
	"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
	"F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
	"F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}

// A header is that of a safetensors file. The file is 8 bytes of header length (little endian), a
// JSON header, and the data. The header maps each name to a dtype, a shape and the range of its
// bytes in the data.
type header struct {
	tensors  []TensorInfo // in file order
	metadata map[string]string
}

// parseHeader reads a header and checks all its claims against the size of the file in bytes.
// dataStart is the offset of the first data byte.
func parseHeader(text []byte, dataStart, size int64) (*header, error) {
	// Counting takes no time. Decoding takes some microseconds a tensor.
	if bytes.Count(text, []byte(`"data_offsets"`)) > MaxTensors {
		return nil, errManyTensors
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	h := &header{}
	if err := h.decode(dec); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends early")
		}
		return nil, fmt.Errorf("the safetensors header is damaged: %w", err)
	}
	slices.SortFunc(h.tensors, func(a, b TensorInfo) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.Bytes, b.Bytes),
			cmp.Compare(a.Name, b.Name))
	})
	end := int64(0)
	for i := range h.tensors {
		t := &h.tensors[i]
		if t.offset != end {
			what := "leaves a gap before"
			if t.offset < end {
				what = "overlaps another with"
			}
			return nil, fmt.Errorf("the safetensors header is damaged: it %s tensor %q",
				what, t.Name)
		}
		if t.Bytes > math.MaxInt64-dataStart-end {
			return nil, fmt.Errorf("the safetensors header is damaged: tensor %q ends beyond any file", t.Name)
		}
		end += t.Bytes
		t.offset += dataStart
	}
	switch missing := dataStart + end - size; {
	case missing > 0:
		return nil, &TruncatedError{missing}
	case missing < 0:
		return nil, fmt.Errorf("the safetensors file has %d bytes after its last tensor", -missing)
	}
	return h, nil
}

var errManyTensors = fmt.Errorf("it holds more than %d tensors, which no model needs", MaxTensors)

// A TruncatedError says that a file is shorter than its header says.
type TruncatedError struct{ Missing int64 } // bytes

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("the file is cut short: %d bytes are missing; download it again", e.Missing)
}

// decode walks the JSON token by token. It refuses a name that comes twice, which json.Unmarshal
// would accept.
func (h *header) decode(dec *json.Decoder) error {
	seen := map[string]bool{}
	err := decodeObject(dec, func(name string) error {
		if seen[name] {
			return fmt.Errorf("it names %q twice", name)
		}
		if seen[name] = true; len(h.tensors) == MaxTensors {
			return errManyTensors
		}
		if name == "__metadata__" {
			return h.decodeMetadata(dec)
		}
		t, err := decodeTensor(dec, name)
		if err != nil {
			return fmt.Errorf("tensor %q %w", name, err)
		}
		h.tensors = append(h.tensors, t)
		return nil
	})
	if err != nil {
		return err
	}
	// Writers pad the header with spaces. It must have nothing else after its object.
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("there is more after its object")
	}
	return nil
}

// decodeMetadata reads an object of strings, or null, which MLX writes if there is no metadata.
func (h *header) decodeMetadata(dec *json.Decoder) error {
	h.metadata = map[string]string{}
	open, err := dec.Token()
	if err != nil || open == nil {
		return err
	}
	return decodeFields(dec, open, func(key string) error {
		v, err := dec.Token()
		if err != nil {
			return err
		}
		text, ok := v.(string)
		if _, twice := h.metadata[key]; !ok || twice {
			return fmt.Errorf("__metadata__ %q is not one string", key)
		}
		if h.metadata[key] = text; len(h.metadata) > maxMetadata {
			return fmt.Errorf("__metadata__ has more than %d entries", maxMetadata)
		}
		return nil
	})
}

// decodeTensor reads {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}. The returned
// offset counts from the start of the data.
func decodeTensor(dec *json.Decoder, name string) (TensorInfo, error) {
	t := TensorInfo{Name: name}
	var shape, offsets []int64
	err := decodeObject(dec, func(key string) (err error) {
		switch {
		case key == "dtype" && t.Dtype == "":
			v, err := dec.Token()
			if err != nil {
				return err
			}
			t.Dtype, _ = v.(string)
			if tensorBits[t.Dtype] == 0 {
				return fmt.Errorf("has an unknown dtype %v", v)
			}
		case key == "shape" && shape == nil:
			if shape, err = decodeExtents(dec, MaxTensorDims); err != nil {
				return fmt.Errorf("has a bad shape: %w", err)
			}
		case key == "data_offsets" && offsets == nil:
			if offsets, err = decodeExtents(dec, 2); err != nil {
				return fmt.Errorf("has bad data_offsets: %w", err)
			}
		default:
			return fmt.Errorf("has an unexpected field %q", key)
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	if t.Dtype == "" || shape == nil || len(offsets) != 2 {
		return t, errors.New("lacks dtype, shape or data_offsets")
	}
	bits := tensorBits[t.Dtype]
	t.Shape = make([]int, len(shape))
	for i, d := range shape {
		if d > math.MaxInt32 {
			return t, fmt.Errorf("has extent %d, more than MLX can address", d)
		}
		if d > 0 && bits > math.MaxInt64/d {
			return t, fmt.Errorf("has a shape %v that overflows", shape)
		}
		bits *= d
		t.Shape[i] = int(d)
	}
	t.offset, t.Bytes = offsets[0], offsets[1]-offsets[0]
	if t.Bytes < 0 {
		return t, fmt.Errorf("ends at %d before it begins at %d", offsets[1], offsets[0])
	}
	if bits%8 != 0 || bits/8 != t.Bytes {
		return t, fmt.Errorf("has %d bytes, but %s %v needs %d", t.Bytes, t.Dtype, shape, bits/8)
	}
	return t, nil
}

// decodeExtents reads an array of at most n non-negative integers.
func decodeExtents(dec *json.Decoder, n int) ([]int64, error) {
	if v, err := dec.Token(); err != nil || v != json.Delim('[') {
		return nil, cmp.Or(err, fmt.Errorf("%v is not an array", v))
	}
	out := []int64{}
	for dec.More() {
		v, err := dec.Token()
		if err != nil {
			return nil, err
		}
		number, ok := v.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%v is not a number", v)
		}
		x, err := number.Int64()
		if err != nil || x < 0 {
			return nil, fmt.Errorf("%s is not a count", number)
		}
		if len(out) == n {
			return nil, fmt.Errorf("more than %d numbers", n)
		}
		out = append(out, x)
	}
	_, err := dec.Token()
	return out, err
}

// decodeObject reads an object, calling field after each key.
func decodeObject(dec *json.Decoder, field func(key string) error) error {
	open, err := dec.Token()
	if err != nil {
		return err
	}
	return decodeFields(dec, open, field)
}

// decodeFields is decodeObject after its first token.
func decodeFields(dec *json.Decoder, open json.Token, field func(key string) error) error {
	if open != json.Delim('{') {
		return fmt.Errorf("%v is not an object", open)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if err := field(key.(string)); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}
