package mlx

// #include "mlx/c/mlx.h"
import "C"

import (
	"fmt"
	"slices"
)

// A Dtype is the element type of an Array (mlx_dtype, an unsigned enum).
type Dtype uint32

const (
	Bool     Dtype = C.MLX_BOOL
	Uint8    Dtype = C.MLX_UINT8
	Uint16   Dtype = C.MLX_UINT16
	Uint32   Dtype = C.MLX_UINT32
	Uint64   Dtype = C.MLX_UINT64
	Int8     Dtype = C.MLX_INT8
	Int16    Dtype = C.MLX_INT16
	Int32    Dtype = C.MLX_INT32
	Int64    Dtype = C.MLX_INT64
	Float16  Dtype = C.MLX_FLOAT16
	Float32  Dtype = C.MLX_FLOAT32
	Float64  Dtype = C.MLX_FLOAT64
	BFloat16 Dtype = C.MLX_BFLOAT16
)

// dtypes maps each type to its name in safetensors files and its size.
var dtypes = map[Dtype]struct {
	name string
	size int
}{
	Bool: {"BOOL", 1}, Uint8: {"U8", 1}, Uint16: {"U16", 2}, Uint32: {"U32", 4}, Uint64: {"U64", 8},
	Int8: {"I8", 1}, Int16: {"I16", 2}, Int32: {"I32", 4}, Int64: {"I64", 8},
	Float16: {"F16", 2}, Float32: {"F32", 4}, Float64: {"F64", 8}, BFloat16: {"BF16", 2},
}

// String returns the safetensors name, such as BF16.
func (d Dtype) String() string {
	if t, ok := dtypes[d]; ok {
		return t.name
	}
	return fmt.Sprintf("Dtype(%d)", int(d))
}

// Size returns the bytes of one element.
func (d Dtype) Size() int { return dtypes[d].size }

// bytesOnly are the types of files that MLX loads as bytes. Packed matrices and their scales have
// them.
var bytesOnly = []string{"F8_E4M3", "F8_E8M0"}

// parseDtype returns the type of the array that a tensor of the named type is loaded as.
func parseDtype(name string) (Dtype, bool) {
	if slices.Contains(bytesOnly, name) {
		return Uint8, true
	}
	for d, t := range dtypes {
		if t.name == name {
			return d, true
		}
	}
	return 0, false
}
