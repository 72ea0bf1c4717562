package nn

import (
	"slices"

	"tandem/engine/mlx"
)

// Dequantized says what quantized matrices become dequantized: float32 elements take their place. On the CPU
// products with those are several times as fast (measured in engine/log/2026-11-23.md).
type Dequantized struct {
	Elements  int64 // of the matrices, dequantized
	Quantized int64 // bytes of their integer tensors
	Floats    int64 // elements of their floating scales and biases
}

// add adds a matrix of elements elements, with its tensors as stored.
func (u *Dequantized) add(elements int64, tensors ...mlx.TensorInfo) {
	u.Elements += elements
	for _, t := range tensors {
		if slices.Contains(floatTypes, t.Dtype) {
			u.Floats += t.Size()
		} else {
			u.Quantized += t.Bytes
		}
	}
}

// dequantized returns a quantized matrix as a plain one in float32, and any other as it is. MLX computes
// what it would inside a product: scale times number plus bias, in float32.
func (m matrix) dequantized(s *mlx.Scope) matrix {
	if !m.quantized() {
		return m
	}
	weight := s.Dequantize(m.weight, m.scales, m.biases, m.quantization, mlx.Float32)
	if m.global != nil {
		weight = s.Mul(weight, s.ExpandDims(m.global, -1))
	}
	return matrix{weight: weight}
}
