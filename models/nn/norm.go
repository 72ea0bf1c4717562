package nn

import "tandem/engine/mlx"

// RMSNorm scales rows to a root mean square of 1, then by its weight.
type RMSNorm struct {
	weight *mlx.Array
	eps    float32
}

// RMSNorm reads the module at path, of dim elements. offset is added to the weight: 1 for
// checkpoints that store it around zero, such as Gemma's.
func (w *Weights) RMSNorm(path string, dim int, eps, offset float64) *RMSNorm {
	w.parameters += int64(dim)
	weight := w.shifted(path, dim, offset)
	w.keep([]*mlx.Array{weight})
	return &RMSNorm{weight: weight, eps: float32(eps)}
}

// shifted reads a norm's weight and adds offset in the weight's own type.
func (w *Weights) shifted(path string, dim int, offset float64) *mlx.Array {
	weight := w.float(path+".weight", dim)
	if offset != 0 {
		weight = w.scope.Add(weight, w.scope.Scalar(offset, weight.Dtype()))
	}
	return weight
}

// Forward normalises the last axis of x.
func (n *RMSNorm) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if s.Fuses(x) && n.weight.Dtype() == mlx.Float32 {
		return s.FusedRMSNorm(x, n.weight, n.eps)
	}
	return s.RMSNorm(x, n.weight, n.eps)
}

// Dtype returns the type of the weight.
func (n *RMSNorm) Dtype() mlx.Dtype { return n.weight.Dtype() }

// HeadNorm is the pair of norms that some models apply to each head of q and of k before the rotary
// embedding. Both are applied together.
type HeadNorm struct {
	weight *mlx.Array // (Q+KV, 1, D)
	eps    float32
}

// HeadNorm reads the modules q_norm and k_norm below path, each of h.Dim elements. offset is added
// to their weights.
func (w *Weights) HeadNorm(path string, h Heads, eps, offset float64) *HeadNorm {
	w.parameters += 2 * int64(h.Dim)
	s := w.scope
	weight := s.Contiguous(s.Concat(0,
		s.BroadcastTo(w.shifted(path+".q_norm", h.Dim, offset), h.Q, 1, h.Dim),
		s.BroadcastTo(w.shifted(path+".k_norm", h.Dim, offset), h.KV, 1, h.Dim)))
	w.keep([]*mlx.Array{weight})
	return &HeadNorm{weight: weight, eps: float32(eps)}
}

// Forward normalises each head of qk (1, Q+KV, rows, D).
func (n *HeadNorm) Forward(s *mlx.Scope, qk *mlx.Array) *mlx.Array {
	if s.Fuses(qk) && n.weight.Dtype() == mlx.Float32 {
		return s.FusedRMSNorm(qk, n.weight, n.eps)
	}
	return s.Mul(s.RMSNorm(qk, nil, n.eps), n.weight)
}

// Keys normalises the heads of k alone, (1, KV, rows, D).
func (n *HeadNorm) Keys(s *mlx.Scope, k *mlx.Array) *mlx.Array {
	heads := n.weight.Dim(0)
	return s.Mul(s.RMSNorm(k, nil, n.eps), s.Slice(n.weight, 0, heads-k.Dim(1), heads))
}
