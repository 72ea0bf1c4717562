package gemma4

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// attention is the attention of one layer. It implements nn.Mixer.
type attention struct {
	Proj   *nn.Linear // queries, then what the layer has of keys and values
	OProj  *nn.Linear
	QNorm  *nn.RMSNorm  // of a layer without keys
	QKNorm *nn.HeadNorm // of a layer with keys

	args  *args
	heads nn.Heads
	rope  *nn.Rope
	layer int
}

// newAttention reads the module at path.
func newAttention(w *nn.Weights, path string, a *args, rope *nn.Rope, layer int) *attention {
	h := a.heads(layer)
	parts := []nn.Part{{Path: path + ".q_proj", Out: h.Q * h.Dim}}
	if !a.shared(layer) {
		parts = append(parts, nn.Part{Path: path + ".k_proj", Out: h.KV * h.Dim})
		if !a.keysAreValues(layer) {
			parts = append(parts, nn.Part{Path: path + ".v_proj", Out: h.KV * h.Dim})
		}
	}
	t := &attention{
		Proj:  w.Stacked(a.HiddenSize, false, parts...),
		OProj: w.Linear(path+".o_proj", h.Q*h.Dim, a.HiddenSize, false),
		args:  a, heads: h, rope: rope, layer: layer,
	}
	if a.shared(layer) {
		t.QNorm = w.RMSNorm(path+".q_norm", h.Dim, a.RMSNormEps, 0)
	} else {
		t.QKNorm = w.HeadNorm(path, h, a.RMSNormEps, 0)
	}
	w.AddMixer(t)
	return t
}

// keysAreValues reports whether a layer makes its values of its keys.
func (a *args) keysAreValues(layer int) bool { return a.AttentionKEqV && a.window(layer) == 0 }

func (t *attention) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	return t.OProj.Forward(s, t.attend(s, t.Proj.Forward(s, x), b))
}

// attend returns what the projected rows attend, (rows, Q D).
func (t *attention) attend(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	h, owner := t.heads, t.args.owners[t.layer]
	if t.args.shared(t.layer) {
		q := t.QNorm.Forward(s, nn.SplitHeads(s, x, h.Q, h.Dim))
		if t.args.keyless {
			return h.AttendPast(s, q, t.rope, b[0].Pos, b[0].Caches[owner])
		}
		return h.AttendShared(s, q, t.rope, b, owner)
	}
	all := h.Q + 2*h.KV
	if t.args.keysAreValues(t.layer) {
		all -= h.KV
	}
	heads := nn.SplitHeads(s, x, all, h.Dim)
	qk, v := s.Slice(heads, 1, 0, h.Q+h.KV), s.Slice(heads, 1, all-h.KV, all)
	h.Restore(s, qk, v, t.rope, b, owner, func(kv lm.KV) lm.KV {
		if t.args.keysAreValues(t.layer) {
			kv.V = kv.K
		}
		return lm.KV{K: t.QKNorm.Keys(s, kv.K), V: t.normValues(s, kv.V)}
	})
	v = t.normValues(s, v)
	return h.Attend(s, t.QKNorm.Forward(s, qk), v, t.rope, b, owner)
}

// normValues normalises values per head, without a weight.
func (t *attention) normValues(s *mlx.Scope, v *mlx.Array) *mlx.Array {
	return s.RMSNorm(v, nil, float32(t.args.RMSNormEps))
}

// KVShape implements nn.Recordable.
func (t *attention) KVShape() (cache int, shape lm.KVShape) {
	owner := t.args.owners[t.layer]
	h := t.args.heads(owner)
	return owner, lm.KVShape{Heads: h.KV, Dim: h.Dim, Window: t.args.window(owner)}
}

// NewCache implements nn.Mixer. Layers with keys come first, so the number of a layer is that of its
// cache.
func (t *attention) NewCache(opts cache.Options) cache.Cache {
	if t.args.shared(t.layer) {
		return nil
	}
	return cache.New(opts, t.args.window(t.layer))
}

func (t *attention) Mix(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	return t.attend(s, nn.Fill(s, x, b.Rows(), t.Proj.Out()), b)
}
