package nn

import (
	"math"

	"tandem/engine/mlx"
)

// ScaledDotProductAttention attends k and v (1, KV, T, D) with q (1, Q, n, D): (1, Q, n, D). mask
// (n, T) is bool, true = attend; nil = attend all.
func ScaledDotProductAttention(s *mlx.Scope, q, k, v *mlx.Array, scale float32,
	mask *mlx.Array) *mlx.Array {
	if !plainOnCPU(s, q) {
		return s.Attention(q, k, v, scale, mask)
	}
	if mask != nil {
		mask = scoreBias(s, mask)
	}
	return attendScores(s, q, k, v, scale, mask)
}

// CausalAttention is [ScaledDotProductAttention] with the queries at the last n of the T positions.
// Each query attends the positions up to its own.
func CausalAttention(s *mlx.Scope, q, k, v *mlx.Array, scale float32) *mlx.Array {
	n, t := q.Dim(2), k.Dim(2)
	if !plainOnCPU(s, q) {
		return s.CausalAttention(q, k, v, scale)
	}
	if n == 1 {
		return attendScores(s, q, k, v, scale, nil)
	}
	return attendScores(s, q, k, v, scale, s.Memo(causalKey{n, t}, func() *mlx.Array {
		own := s.ExpandDims(s.Arange(t-n, t, mlx.Int32), 1)
		return scoreBias(s, s.LessEqual(s.ExpandDims(s.Arange(0, t, mlx.Int32), 0), own))
	}))
}

// A causalKey names a mask that the layers of a forward share.
type causalKey struct{ n, t int }

// plainOnCPU reports whether x is float32 on the CPU. MLX's functions there take e and tanh number
// by number, and powers of two three times as fast (measured in engine/LOG.md).
func plainOnCPU(s *mlx.Scope, x *mlx.Array) bool {
	return x.Dtype() == mlx.Float32 && !s.Thread().GPU()
}

// scoreBias turns a mask into a term that is added to scores.
func scoreBias(s *mlx.Scope, mask *mlx.Array) *mlx.Array {
	return s.Where(mask, constant(s, 0, mlx.Float32), constant(s, -1e30, mlx.Float32))
}

// attendScores is attention in plain operations. It multiplies the queries of all heads that share
// keys at once. It divides by the sum of the powers last, when a query has D numbers instead of T.
// bias (n, T) is added to the scores.
func attendScores(s *mlx.Scope, q, k, v *mlx.Array, scale float32, bias *mlx.Array) *mlx.Array {
	heads, n, kv, t := q.Dim(1), q.Dim(2), k.Dim(1), k.Dim(2)
	group := heads / kv
	q = s.Mul(q, constant(s, float64(scale)*math.Log2E, mlx.Float32))
	q = s.Reshape(q, 1, kv, group*n, q.Dim(3))
	scores := s.MatMul(q, s.Transpose(k, 0, 1, 3, 2)) // (1, KV, group n, T)
	if bias != nil {
		scores = s.Reshape(s.Add(s.Reshape(scores, 1, kv, group, n, t), bias), 1, kv, group*n, t)
	}
	powers := s.Power(constant(s, 2, mlx.Float32), s.Sub(scores, s.Max(scores, -1, true)))
	out := s.Div(s.MatMul(powers, v), s.Sum(powers, -1, true))
	return s.Reshape(out, 1, heads, n, v.Dim(3))
}
