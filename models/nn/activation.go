package nn

import (
	"math"

	"tandem/engine/mlx"
)

// SiLU returns x times its logistic function.
func SiLU(s *mlx.Scope, x *mlx.Array) *mlx.Array { return s.Mul(x, s.Sigmoid(x)) }

// SwiGLU returns silu(gate) * up for x (rows, 2n), gate before up: (rows, n).
func SwiGLU(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if s.Fuses(x) {
		return s.Gated(x, -math.Log2E, 0)
	}
	parts := s.Split(x, 2, -1)
	return s.Mul(SiLU(s, parts[0]), parts[1])
}

// GeGLU returns gelu(gate) * up for x (rows, 2n), gate before up: (rows, n). gelu is the
// approximation by tanh.
func GeGLU(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if s.Fuses(x) {
		return s.Gated(x, geluSlope, 0.044715*geluSlope)
	}
	parts := s.Split(x, 2, -1)
	return GatedGELU(s, parts[0], parts[1])
}

// gelu(x) is x times the logistic function of 2 sqrt(2/pi) (x + 0.044715 x^3): as a power of 2, with this slope.
const geluSlope = -2 * math.Log2E * 0.7978845608028654

// GatedGELU returns gelu(gate) * up, as [GeGLU] does.
func GatedGELU(s *mlx.Scope, gate, up *mlx.Array) *mlx.Array {
	d := gate.Dtype()
	if plainOnCPU(s, gate) {
		square := s.Mul(gate, gate)
		inner := s.Add(constant(s, geluSlope, d), s.Mul(constant(s, 0.044715*geluSlope, d), square))
		return gated(s, gate, up, s.Mul(inner, gate))
	}
	// The cube is rounded once, as a power would be.
	x32 := s.AsType(gate, mlx.Float32)
	cube := s.AsType(s.Mul(s.Mul(x32, x32), x32), d)
	inner := s.Add(gate, s.Mul(constant(s, 0.044715, d), cube))
	t := s.Tanh(s.Mul(constant(s, math.Sqrt(2/math.Pi), d), inner))
	gelu := s.Mul(s.Mul(constant(s, 0.5, d), gate), s.Add(constant(s, 1, d), t))
	return s.Mul(gelu, up)
}

// ClampedSwiGLU returns a gate for x (rows, 2n), gate before up: gate times the logistic function of
// alpha gate, times up + 1. Before that it cuts gate to at most limit, and up to the range of limit.
func ClampedSwiGLU(alpha, limit float64) Gate {
	return func(s *mlx.Scope, x *mlx.Array) *mlx.Array {
		d := x.Dtype()
		parts := s.Split(x, 2, -1)
		bound := constant(s, limit, d)
		gate := s.Minimum(parts[0], bound)
		up := s.Add(s.Clip(parts[1], constant(s, -limit, d), bound), constant(s, 1, d))
		if plainOnCPU(s, gate) {
			return gated(s, gate, up, s.Mul(constant(s, -alpha*math.Log2E, d), gate))
		}
		return s.Mul(up, s.Mul(gate, s.Sigmoid(s.Mul(constant(s, alpha, d), gate))))
	}
}

// gated returns gate * up / (1 + 2^exponent).
func gated(s *mlx.Scope, gate, up, exponent *mlx.Array) *mlx.Array {
	d := gate.Dtype()
	return s.Div(s.Mul(gate, up), s.Add(constant(s, 1, d), s.Power(constant(s, 2, d), exponent)))
}

type constantKey struct {
	value float64
	dtype mlx.Dtype
}

// constant returns a scalar that all layers of a forward share.
func constant(s *mlx.Scope, v float64, d mlx.Dtype) *mlx.Array {
	return s.Memo(constantKey{v, d}, func() *mlx.Array { return s.Scalar(v, d) })
}

// Softcap keeps x between -most and most: most tanh(x/most).
func Softcap(s *mlx.Scope, x *mlx.Array, limit float64) *mlx.Array {
	c := s.Scalar(limit, x.Dtype())
	return s.Mul(s.Tanh(s.Div(x, c)), c)
}
