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
	QNorm  *nn.RMSNorm  // of a KV-shared layer
	QKNorm *nn.HeadNorm // of any other layer

	args  *args
	heads nn.Heads
	rope  *nn.Rope
	layer int
}

// newAttention reads the module at path.
func newAttention(w *nn.Weights, path string, a *args, rope *nn.Rope, layer int) *attention {
	h := a.heads(layer)
	parts := []nn.Part{{Path: path + ".q_proj", Out: h.Q * h.Dim}}
	if !a.kvShared(layer) {
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
	if a.kvShared(layer) {
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
	h, source := t.heads, t.args.kvSource[t.layer]
	if t.args.kvShared(t.layer) {
		q := t.QNorm.Forward(s, nn.SplitHeads(s, x, h.Q, h.Dim))
		if t.args.externalKV {
			return h.AttendPast(s, q, t.rope, b[0].Pos, b[0].Caches[source])
		}
		return h.AttendShared(s, q, t.rope, b, source)
	}
	all := h.Q + 2*h.KV
	if t.args.keysAreValues(t.layer) {
		all -= h.KV
	}
	heads := nn.SplitHeads(s, x, all, h.Dim)
	// Without v_proj, v is the K part of qk.
	qk, v := s.Slice(heads, 1, 0, h.Q+h.KV), s.Slice(heads, 1, all-h.KV, all)
	// Rows are recorded and restored as projected; the function norms the restored ones.
	h.Restore(s, qk, v, t.rope, b, source, func(kv lm.KV) lm.KV {
		if t.args.keysAreValues(t.layer) {
			kv.V = kv.K
		}
		return lm.KV{K: t.QKNorm.Keys(s, kv.K), V: t.normValues(s, kv.V)}
	})
	v = t.normValues(s, v)
	return h.Attend(s, t.QKNorm.Forward(s, qk), v, t.rope, b, source)
}

// normValues normalises values per head, without a weight.
func (t *attention) normValues(s *mlx.Scope, v *mlx.Array) *mlx.Array {
	return s.RMSNorm(v, nil, float32(t.args.RMSNormEps))
}

// KVShape implements nn.Recordable.
func (t *attention) KVShape() (cache int, shape lm.KVShape) {
	source := t.args.kvSource[t.layer]
	h := t.args.heads(source)
	return source, lm.KVShape{Heads: h.KV, Dim: h.Dim, Window: t.args.window(source)}
}

// NewCache implements nn.Mixer. KV-shared layers come last, so a layer and its cache have the same
// number.
func (t *attention) NewCache(opts cache.Options) cache.Cache {
	if t.args.kvShared(t.layer) {
		return nil
	}
	return cache.New(opts, t.args.window(t.layer))
}

// Mix implements nn.Mixer. Copies of x take the place of projected rows, and nothing projects the result.
func (t *attention) Mix(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	return t.attend(s, nn.Broadcast(s, x, b.Rows(), t.Proj.Out()), b)
}
