package nn

import (
	"slices"

	"tandem/engine/mlx"
)

// Conv is a causal convolution over rows, each channel by itself. It adds up shifted rows in
// float32, by elementwise operations. The result for a row does not depend on how many rows come
// with it.
type Conv struct {
	taps   *mlx.Array // (K, C) float32, the row's own last
	kernel int
}

// Conv reads the module at path. The checkpoint stores it as (C, K, 1) or, like PyTorch, as (C, 1,
// K).
func (w *Weights) Conv(path string, channels, kernel int) *Conv {
	s, name := w.scope, path+".weight"
	shape := []int{channels, kernel, 1}
	if torch := []int{channels, 1, kernel}; slices.Equal(w.Shape(name), torch) {
		shape = torch
	}
	info, _ := w.info(name)
	w.computed.Convs.add(info)
	w.parameters += int64(channels) * int64(kernel)
	taps := s.AsType(s.Reshape(w.float(name, shape...), channels, kernel), mlx.Float32)
	taps = s.Contiguous(s.Transpose(taps, 1, 0))
	w.keep([]*mlx.Array{taps})
	return &Conv{taps, kernel}
}

// Forward maps x (K-1+n, C), n rows after the K-1 before them, to (n, C).
func (c *Conv) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	n, d := x.Dim(0)-(c.kernel-1), x.Dtype()
	x = s.AsType(x, mlx.Float32)
	var sum *mlx.Array
	for i := range c.kernel {
		part := s.Mul(s.Slice(x, 0, i, i+n), s.Slice(c.taps, 0, i, i+1))
		if sum == nil {
			sum = part
		} else {
			sum = s.Add(sum, part)
		}
	}
	return s.AsType(sum, d)
}
