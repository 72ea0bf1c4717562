package nn

import (
	"math"

	"tandem/engine/mlx"
)

// SwiGLU returns silu(gate) * up for x (rows, 2n), gate before up: (rows, n).
func SwiGLU(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	parts := s.Split(x, 2, -1)
	gate, up := parts[0], parts[1]
	return s.Mul(s.Mul(gate, s.Sigmoid(gate)), up)
}

// GeGLU returns gelu(gate) * up for x (rows, 2n), gate before up: (rows, n).
// gelu is the approximation by tanh.
func GeGLU(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	parts := s.Split(x, 2, -1)
	gate, up := parts[0], parts[1]
	d := x.Dtype()
	// The cube is rounded once, as a power would be.
	wide := s.AsType(gate, mlx.Float32)
	cube := s.AsType(s.Mul(s.Mul(wide, wide), wide), d)
	inner := s.Add(gate, s.Mul(s.Scalar(0.044715, d), cube))
	t := s.Tanh(s.Mul(s.Scalar(math.Sqrt(2/math.Pi), d), inner))
	gelu := s.Mul(s.Mul(s.Scalar(0.5, d), gate), s.Add(s.Scalar(1, d), t))
	return s.Mul(gelu, up)
}
