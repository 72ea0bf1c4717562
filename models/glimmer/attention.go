package glimmer

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// attention is the attention of one layer, with its projections.
type attention struct {
	QKVGateProj *nn.Linear // queries, keys, values and gates: (2 Q D + 2 KV D)
	OProj       *nn.Linear

	args  *args
	heads nn.Heads
	rope  *nn.Rope // nil = none
	layer int
}

// newAttention reads the module at path.
func newAttention(w *nn.Weights, path string, a *args, rope *nn.Rope, layer int) *attention {
	h := a.Heads(float64(a.HeadDim))
	t := &attention{
		QKVGateProj: w.Stacked(a.HiddenSize, false,
			nn.Part{Path: path + ".q_proj", Out: h.Q * h.Dim},
			nn.Part{Path: path + ".k_proj", Out: h.KV * h.Dim},
			nn.Part{Path: path + ".v_proj", Out: h.KV * h.Dim},
			nn.Part{Path: path + ".gate_proj", Out: h.Q * h.Dim}),
		OProj: w.Linear(path+".o_proj", h.Q*h.Dim, a.HiddenSize, false),
		args:  a, heads: h, layer: layer,
	}
	if a.LayerRopeTheta[layer] != 0 {
		t.rope = rope
	}
	w.AddMixer(t)
	return t
}

// Forward implements nn.Mixer.
func (t *attention) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	h, eps := t.heads, float32(t.args.RMSNormEps)
	all := t.QKVGateProj.Forward(s, x)
	width := (h.Q + 2*h.KV) * h.Dim
	qk, v := h.Split(s, s.Slice(all, 1, 0, width))
	gate := s.Slice(all, 1, width, all.Dim(1)) // (rows, Q D)
	h.Restore(s, qk, v, t.rope, b, t.layer, func(kv lm.KV) lm.KV {
		return lm.KV{K: s.RMSNorm(kv.K, nil, eps), V: kv.V}
	})
	qk = s.RMSNorm(qk, nil, eps)
	q := s.Mul(s.Slice(qk, 1, 0, h.Q), s.Scalar(t.args.QKScaleFactor, qk.Dtype()))
	qk = s.Concat(1, q, s.Slice(qk, 1, h.Q, h.Q+h.KV))
	out := h.Attend(s, qk, v, t.rope, b, t.layer)
	return t.OProj.Forward(s, s.Mul(out, s.Sigmoid(gate)))
}

// NewCache implements nn.Mixer.
func (t *attention) NewCache(opts cache.Options) cache.Cache {
	return cache.New(opts, t.args.window(t.layer))
}

// KVShape implements nn.Recordable.
func (t *attention) KVShape() (cache int, shape lm.KVShape) {
	return t.layer, lm.KVShape{Heads: t.heads.KV, Dim: t.heads.Dim, Window: t.args.window(t.layer)}
}

// Mix implements nn.Mixer.
func (t *attention) Mix(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	h := t.heads
	qk, v := h.Split(s, nn.Broadcast(s, x, b.Rows(), (h.Q+2*h.KV)*h.Dim))
	return h.Attend(s, qk, v, t.rope, b, t.layer)
}
