package nn

import (
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// Attention of one layer.
type Attention struct {
	QKVProj *Linear
	OProj   *Linear
	QKNorm  *HeadNorm // nil = none
	gated   bool      // by an output of q_proj behind each query
	heads   Heads
	rope    *Rope
	layer   int
}

// Attention reads the projections at path; QKNorm is the caller's.
func (w *Weights) Attention(path string, hidden int, h Heads, bias bool, rope *Rope, layer int) *Attention {
	return w.attention(path, hidden, h, bias, false, rope, layer)
}

// GatedAttention is Attention whose q_proj has for each head the query and then
// a gate, both of h.Dim elements: what the head attends is multiplied by the
// logistic function of its gate.
func (w *Weights) GatedAttention(path string, hidden int, h Heads, bias bool, rope *Rope, layer int) *Attention {
	return w.attention(path, hidden, h, bias, true, rope, layer)
}

func (w *Weights) attention(path string, hidden int, h Heads, bias, gated bool, rope *Rope, layer int) *Attention {
	queries := h.Q * h.Dim
	if gated {
		queries *= 2
	}
	t := &Attention{
		QKVProj: w.Stacked(hidden, bias,
			Part{path + ".q_proj", queries},
			Part{path + ".k_proj", h.KV * h.Dim},
			Part{path + ".v_proj", h.KV * h.Dim}),
		OProj: w.Linear(path+".o_proj", h.Q*h.Dim, hidden, bias),
		gated: gated,
		heads: h,
		rope:  rope,
		layer: layer,
	}
	w.Mixer(t)
	return t
}

// Forward maps the rows x (rows, H) of b.
func (t *Attention) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	qkv := t.QKVProj.Forward(s, x)
	var gate *mlx.Array // (rows, Q D)
	if t.gated {
		qkv, gate = t.heads.ungate(s, qkv)
	}
	qk, v := t.heads.Split(s, qkv)
	if t.QKNorm != nil {
		qk = t.QKNorm.Forward(s, qk)
	}
	out := t.heads.Attend(s, qk, v, t.rope, b, t.layer)
	if t.gated {
		out = s.Mul(out, s.Sigmoid(gate))
	}
	return t.OProj.Forward(s, out)
}

// ungate takes the gates (rows, Q D) out of x (rows, (2Q+2KV) D), where one
// stands behind the query of each head.
func (h Heads) ungate(s *mlx.Scope, x *mlx.Array) (qkv, gate *mlx.Array) {
	rows, width := x.Dim(0), h.Q*h.Dim
	heads := s.Reshape(s.Slice(x, 1, 0, 2*width), rows, h.Q, 2*h.Dim)
	part := func(from int) *mlx.Array {
		return s.Reshape(s.Slice(heads, 2, from, from+h.Dim), rows, width)
	}
	return s.Concat(1, part(0), s.Slice(x, 1, 2*width, x.Dim(1))), part(h.Dim)
}

// A Gate is SwiGLU or GeGLU.
type Gate func(s *mlx.Scope, x *mlx.Array) *mlx.Array

// MLP of one layer.
type MLP struct {
	GateUpProj *Linear
	DownProj   *Linear
	gate       Gate
}

// MLP reads the projections at path.
func (w *Weights) MLP(path string, hidden, intermediate int, bias bool, gate Gate) *MLP {
	return &MLP{
		GateUpProj: w.Stacked(hidden, bias,
			Part{path + ".gate_proj", intermediate},
			Part{path + ".up_proj", intermediate}),
		DownProj: w.Linear(path+".down_proj", intermediate, hidden, bias),
		gate:     gate,
	}
}

// Forward maps rows x (rows, H).
func (m *MLP) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	return m.DownProj.Forward(s, m.gate(s, m.GateUpProj.Forward(s, x)))
}

// Block is one layer with a norm before attention and one before the MLP.
type Block struct {
	SelfAttn               *Attention
	MLP                    *MLP
	InputLayernorm         *RMSNorm
	PostAttentionLayernorm *RMSNorm
}

// Forward maps the rows x (rows, H) of b.
func (l *Block) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	x = s.Add(x, l.SelfAttn.Forward(s, l.InputLayernorm.Forward(s, x), b))
	return s.Add(x, l.MLP.Forward(s, l.PostAttentionLayernorm.Forward(s, x)))
}
