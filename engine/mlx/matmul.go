package mlx

// #include <stdlib.h>
// #include "mlx/c/mlx.h"
import "C"

// MatMul returns a @ b, broadcast over leading axes (mlx_matmul).
func (s *Scope) MatMul(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_matmul(&r.c, a.c, b.c, s.stream))
}

// AddMM returns c + a @ b (mlx_addmm).
func (s *Scope) AddMM(c, a, b *Array) *Array {
	if !s.ready(c, a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_addmm(&r.c, c.c, a.c, b.c, 1, 1, s.stream))
}

// A Quantization says how a matrix was packed: GroupSize elements of a row share one scale, and each
// takes Bits bits. Mode is MLX's name: affine, mxfp4, nvfp4 or mxfp8. Groups of the affine mode have
// a bias too, and floating scales. The others have none, and scales of type uint8.
type Quantization struct {
	GroupSize, Bits int
	Mode            string
}

func (q Quantization) c() (group, bits C.mlx_optional_int, mode *C.char) {
	group = C.mlx_optional_int{value: C.int(q.GroupSize), has_value: true}
	bits = C.mlx_optional_int{value: C.int(q.Bits), has_value: true}
	return group, bits, modes[q.Mode]
}

// modes holds C strings for the life of the process. An unknown mode would be NULL; callers refuse
// it before it gets here.
var modes = map[string]*C.char{
	"affine": C.CString("affine"),
	"mxfp4":  C.CString("mxfp4"),
	"nvfp4":  C.CString("nvfp4"),
	"mxfp8":  C.CString("mxfp8"),
}

// packed reports whether the arrays of a packed matrix can be used. Only biases may be nil.
func (s *Scope) packed(biases *Array, others ...*Array) bool {
	return (biases == nil || s.ready(biases)) && s.ready(others...)
}

// optional returns the array, or MLX's null for nil.
func optional(a *Array) C.mlx_array {
	if a == nil {
		return C.mlx_array{}
	}
	return a.c
}

// QuantizedMatMul returns x @ w^T for a packed w (out, in*bits/32) with its scales and biases
// (mlx_quantized_matmul). biases is nil if the mode has none.
func (s *Scope) QuantizedMatMul(x, w, scales, biases *Array, q Quantization) *Array {
	if !s.packed(biases, x, w, scales) {
		return s.failed
	}
	group, bits, mode := q.c()
	r := s.new()
	return s.done(r, C.mlx_quantized_matmul(&r.c, x.c, w.c, scales.c, optional(biases), true, group,
		bits, mode, s.stream))
}

// GatherMM multiplies each matrix of a (..., n, in) with the matrix of b (E, in, out) whose index
// rhs holds, as uint32 or int32. Leading axes are broadcast (mlx_gather_mm).
func (s *Scope) GatherMM(a, b, rhs *Array) *Array {
	if !s.ready(a, b, rhs) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_gather_mm(&r.c, a.c, b.c, C.mlx_array{}, rhs.c, false, s.stream))
}

// GatherQuantizedMatMul is GatherMM with the transposes of packed matrices w (E, out, in*bits/32)
// (mlx_gather_qmm).
func (s *Scope) GatherQuantizedMatMul(x, w, scales, biases, rhs *Array, q Quantization) *Array {
	if !s.packed(biases, x, w, scales, rhs) {
		return s.failed
	}
	group, bits, mode := q.c()
	r := s.new()
	return s.done(r, C.mlx_gather_qmm(&r.c, x.c, w.c, scales.c, optional(biases), C.mlx_array{},
		rhs.c, true, group, bits, mode, false, s.stream))
}

// Quantize packs w (..., out, in) in the affine mode. It returns the packed matrix, its scales and its
// biases (mlx_quantize).
func (s *Scope) Quantize(w *Array, q Quantization) (packed, scales, biases *Array) {
	if !s.ready(w) {
		return s.failed, s.failed, s.failed
	}
	group, bits, mode := q.c()
	v := C.mlx_vector_array_new()
	s.status(C.mlx_quantize(&v, w.c, group, bits, mode, C.mlx_array{}, s.stream))
	parts := s.unpack(v, 3)
	return parts[0], parts[1], parts[2]
}

// Dequantize unpacks w (..., out, in*bits/32) to (..., out, in) of type d (mlx_dequantize).
func (s *Scope) Dequantize(w, scales, biases *Array, q Quantization, d Dtype) *Array {
	if !s.packed(biases, w, scales) {
		return s.failed
	}
	group, bits, mode := q.c()
	dtype := C.mlx_optional_dtype{value: C.mlx_dtype(d), has_value: true}
	r := s.new()
	return s.done(r, C.mlx_dequantize(&r.c, w.c, scales.c, optional(biases), group, bits, mode,
		C.mlx_array{}, dtype, s.stream))
}
