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
	heads   Heads
	rope    *Rope
	layer   int
}

// Attention reads the projections at path; QKNorm is the caller's.
func (w *Weights) Attention(path string, hidden int, h Heads, bias bool, rope *Rope, layer int) *Attention {
	t := &Attention{
		QKVProj: w.Stacked(hidden, bias,
			Part{path + ".q_proj", h.Q * h.Dim},
			Part{path + ".k_proj", h.KV * h.Dim},
			Part{path + ".v_proj", h.KV * h.Dim}),
		OProj: w.Linear(path+".o_proj", h.Q*h.Dim, hidden, bias),
		heads: h,
		rope:  rope,
		layer: layer,
	}
	w.parts.attentions = append(w.parts.attentions, t)
	return t
}

// Forward maps the rows x (rows, H) of b.
func (t *Attention) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	qk, v := t.heads.Split(s, t.QKVProj.Forward(s, x))
	if t.QKNorm != nil {
		qk = t.QKNorm.Forward(s, qk)
	}
	return t.OProj.Forward(s, t.heads.Attend(s, qk, v, t.rope, b, t.layer))
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
