package nn

import (
	"math"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// ScaledDotProductAttention attends k and v (1, KV, T, D) with q (1, Q, n, D): (n, Q D). mask (n, T) is bool, true =
// attend; nil = attend all.
func (h Heads) ScaledDotProductAttention(s *mlx.Scope, q, k, v, mask *mlx.Array) *mlx.Array {
	if !plainOnCPU(s, q) {
		return joinHeads(s, s.Attention(q, k, v, h.Scale, mask, h.Sinks))
	}
	k, v, h.Sinks = float32s(s, k), float32s(s, v), float32s(s, h.Sinks)
	if mlx.TiledAttentionFits(v) {
		return s.TiledAttention(q, k, v,
			mlx.AttentionOptions{Scale: h.Scale, Mask: mask, Sinks: h.Sinks})
	}
	if mask != nil {
		mask = scoreBias(s, mask)
	}
	return joinHeads(s, h.attendScores(s, q, k, v, mask))
}

// CausalAttention is [Heads.ScaledDotProductAttention] with the queries at the last n of the T
// positions. Each query attends the positions up to its own.
func (h Heads) CausalAttention(s *mlx.Scope, q, k, v *mlx.Array) *mlx.Array {
	n, t := q.Dim(2), k.Dim(2)
	if !plainOnCPU(s, q) {
		return joinHeads(s, s.CausalAttention(q, k, v, h.Scale, h.Sinks))
	}
	k, v, h.Sinks = float32s(s, k), float32s(s, v), float32s(s, h.Sinks)
	if mlx.TiledAttentionFits(v) {
		return s.TiledAttention(q, k, v,
			mlx.AttentionOptions{Scale: h.Scale, Sinks: h.Sinks, Causal: true})
	}
	var bias *mlx.Array
	if n > 1 {
		bias = causalBias(s, n, t)
	}
	return joinHeads(s, h.attendScores(s, q, k, v, bias))
}

// attendQuantized attends quantized rows by an operation that dequantizes a few of them at a time, in the
// first cache. It returns nil where there is no such operation.
func (h Heads) attendQuantized(s *mlx.Scope, q *mlx.Array, view cache.View) *mlx.Array {
	if !plainOnCPU(s, q) || !mlx.QuantizedAttentionFits(view.Quantized.K, view.Quantized.V) {
		return nil
	}
	return s.TiledAttention(q, view.K, view.V, mlx.AttentionOptions{
		Scale: h.Scale, Mask: view.Mask, Causal: view.Causal, Sinks: float32s(s, h.Sinks),
		Keys: &view.Quantized.K, Values: &view.Quantized.V})
}

// A causalKey names a mask that the layers of a forward share.
type causalKey struct {
	n, t int
	bias bool
}

// causalMask is true where the last n of t positions attend: (n, t) bool.
func causalMask(s *mlx.Scope, n, t int) *mlx.Array {
	return s.Memo(causalKey{n, t, false}, func() *mlx.Array {
		own := s.ExpandDims(s.Arange(t-n, t, mlx.Int32), 1)
		return s.LessEqual(s.ExpandDims(s.Arange(0, t, mlx.Int32), 0), own)
	})
}

// causalBias is added to the scores of the last n of t positions: (n, t).
func causalBias(s *mlx.Scope, n, t int) *mlx.Array {
	return s.Memo(causalKey{n, t, true}, func() *mlx.Array {
		return scoreBias(s, causalMask(s, n, t))
	})
}

// plainOnCPU reports whether x is float32 on the CPU. MLX's functions there take e and tanh number
// by number, and powers of two three times as fast (measured in engine/log/2026-11-21.md).
func plainOnCPU(s *mlx.Scope, x *mlx.Array) bool {
	return x.Dtype() == mlx.Float32 && !s.Thread().GPU()
}

// tiled reports whether queries q attend values v by TiledAttention, in which a row gets the same
// whatever rows come with it.
func tiled(s *mlx.Scope, q, v *mlx.Array) bool {
	return plainOnCPU(s, q) && mlx.TiledAttentionFits(v)
}

// float32s returns x in float32. Checkpoints of mixed types give values of another type than the
// queries have. nil stays nil.
func float32s(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if x == nil || x.Dtype() == mlx.Float32 {
		return x
	}
	return s.AsType(x, mlx.Float32)
}

// scoreBias turns a mask into a term that is added to scores.
func scoreBias(s *mlx.Scope, mask *mlx.Array) *mlx.Array {
	return s.Where(mask, constant(s, 0, mlx.Float32), constant(s, -1e30, mlx.Float32))
}

// attendScores is attention in MLX's own operations, for what TiledAttention does not take. It
// multiplies the queries of all heads that share keys together. It divides by the sum of the powers
// last, when a query has D numbers instead of T. bias is added to the scores: (n, T), or (1, KV,
// Q/KV, n, T) if each head has its own terms.
func (h Heads) attendScores(s *mlx.Scope, q, k, v, bias *mlx.Array) *mlx.Array {
	heads, n, kv, t := q.Dim(1), q.Dim(2), k.Dim(1), k.Dim(2)
	group := heads / kv
	q = s.Mul(q, constant(s, float64(h.Scale)*math.Log2E, mlx.Float32))
	q = s.Reshape(q, 1, kv, group*n, q.Dim(3))
	scores := s.MatMul(q, s.Transpose(k, 0, 1, 3, 2)) // (1, KV, group n, T)
	if bias != nil {
		scores = s.Reshape(s.Add(s.Reshape(scores, 1, kv, group, n, t), bias), 1, kv, group*n, t)
	}
	maxScore := s.Max(scores, -1, true) // (1, KV, group n, 1)
	var sinks *mlx.Array                // alike
	if h.Sinks != nil {
		sinks = s.Mul(h.Sinks, constant(s, math.Log2E, mlx.Float32))
		sinks = s.BroadcastTo(s.Reshape(sinks, 1, kv, group, 1), 1, kv, group, n)
		sinks = s.Reshape(sinks, 1, kv, group*n, 1)
		maxScore = s.Maximum(maxScore, sinks)
	}
	two := constant(s, 2, mlx.Float32)
	powers := s.Power(two, s.Sub(scores, maxScore))
	sum := s.Sum(powers, -1, true)
	if sinks != nil {
		sum = s.Add(sum, s.Power(two, s.Sub(sinks, maxScore)))
	}
	return s.Reshape(s.Div(s.MatMul(powers, v), sum), 1, heads, n, v.Dim(3))
}
