package dflash

import (
	"tandem/engine/cache"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// layer is one layer.
type layer struct {
	QKVProj                *nn.Linear
	KVProj                 *nn.Linear // the same memory without q, for context rows
	GProj                  *nn.Linear // one gate a head, or nil
	OProj                  *nn.Linear
	QKNorm                 *nn.HeadNorm
	MLP                    *nn.MLP
	InputLayernorm         *nn.RMSNorm
	PostAttentionLayernorm *nn.RMSNorm
	AttentionConv, MLPConv *blockConv // or nil
}

// newLayer reads one layer.
func newLayer(w *nn.Weights, path string, a *args) *layer {
	h := a.Heads(float64(a.HeadDim))
	q, kv := h.Q*h.Dim, h.KV*h.Dim
	attn := path + ".self_attn"
	parts := []nn.Part{
		{Path: attn + ".q_proj", Out: q},
		{Path: attn + ".k_proj", Out: kv},
		{Path: attn + ".v_proj", Out: kv},
	}
	if w.Has(attn + ".qkv_proj.weight") {
		parts = []nn.Part{{Path: attn + ".qkv_proj", Out: q + 2*kv}}
	}
	qkv := w.Stacked(a.HiddenSize, a.AttentionBias, parts...)
	l := &layer{
		QKVProj:                qkv,
		KVProj:                 w.Outputs(qkv, q, q+2*kv),
		OProj:                  w.Linear(attn+".o_proj", q, a.HiddenSize, a.AttentionBias),
		QKNorm:                 w.HeadNorm(attn, h, a.RMSNormEps, 0),
		MLP:                    w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, false, nn.SwiGLU),
		InputLayernorm:         a.Norm(w, path+".input_layernorm"),
		PostAttentionLayernorm: a.Norm(w, path+".post_attention_layernorm"),
	}
	if w.Has(attn + ".g_proj.weight") {
		l.GProj = w.Linear(attn+".g_proj", a.HiddenSize, h.Q, false)
	}
	if a.second() {
		l.AttentionConv = newConv(w, path+".attention_conv", a)
		l.MLPConv = newConv(w, path+".mlp_conv", a)
	}
	return l
}

// around returns x plus what sublayer makes of normed, the rows of x after its norm, between the
// convolutions c if there are any.
func around(s *mlx.Scope, x, normed *mlx.Array, c *blockConv,
	sublayer func(*mlx.Array) *mlx.Array) *mlx.Array {
	if c == nil {
		return s.FusedAdd(x, sublayer(normed))
	}
	in, kernels := c.before(s, normed)
	return s.Add(x, c.after(s, sublayer(in), kernels))
}

// attend returns what the rows x (rows, H) of a block at pos attend to in a layer: the context and
// each other. context holds the last rows before pos, which c lacks, or is nil.
func (m *Model) attend(s *mlx.Scope, context, x *mlx.Array, i, pos int, c cache.Cache) *mlx.Array {
	l, h, rows, more := m.Layers[i], m.heads, x.Dim(0), 0
	joined := x
	if context != nil {
		more = context.Dim(0)
		joined = s.Concat(0, m.source(s, l, context), x)
	}
	qk, v := h.Split(s, l.QKVProj.Forward(s, joined))
	qk = m.rope.Forward(s, l.QKNorm.Forward(s, qk), pos-more)
	q, k := s.Slice(s.Slice(qk, 1, 0, h.Q), 2, more, more+rows), s.Slice(qk, 1, h.Q, h.Q+h.KV)
	past := c.Offset() + more
	view := c.(cache.Attention).Update(s, k, v)
	keys, values, mask := view.K, view.V, view.Mask
	switch {
	case !m.causal(i):
		if reach := m.reach(i); reach >= 0 && past > reach {
			keys = s.Slice(keys, 2, past-reach, past+rows)
			values = s.Slice(values, 2, past-reach, past+rows)
			past = reach
		}
		mask = blockMask(s, m.args.window(i), past, rows)
	case mask != nil:
		mask = s.Slice(mask, 0, more, more+rows)
	}
	var out *mlx.Array // (rows, Q D)
	if m.causal(i) && view.Causal {
		out = h.CausalAttention(s, q, keys, values)
	} else {
		out = h.ScaledDotProductAttention(s, q, keys, values, mask)
	}
	if l.GProj != nil {
		out = s.Mul(s.Reshape(out, rows, h.Q, h.Dim), s.Reshape(l.gate(s, x), rows, h.Q, 1))
	}
	return l.OProj.Forward(s, s.Reshape(out, rows, h.Q*h.Dim))
}

// reach returns how many rows of context a layer reads for the first row of a block; -1 = all.
func (m *Model) reach(layer int) int {
	rows := m.args.window(layer) - 1
	if set := m.settings.Window; set > 0 && (rows < 0 || set < rows) {
		return set
	}
	return rows
}

// gate returns the factors (rows, Q) of the heads' outputs: softplus, computed in float32.
func (l *layer) gate(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	g := s.AsType(l.GProj.Forward(s, x), mlx.Float32)
	return s.AsType(s.LogAddExp(g, s.Scalar(0, mlx.Float32)), x.Dtype())
}

type maskKey struct{ window, past, rows int }

// blockMask returns the mask (rows, past+rows), true = attend, of a block that sees itself whole
// and the context within the window. It returns nil if that is everything.
func blockMask(s *mlx.Scope, window, past, rows int) *mlx.Array {
	if window == 0 || past+rows <= window {
		return nil
	}
	return s.Memo(maskKey{window, past, rows}, func() *mlx.Array {
		size := past + rows
		mask := make([]bool, rows*size)
		for i := range rows {
			// A block is seen whole even if it is longer than the window.
			for j := min(past, max(0, past+i-window+1)); j < size; j++ {
				mask[i*size+j] = true
			}
		}
		return mlx.New(s, mask, rows, size)
	})
}
