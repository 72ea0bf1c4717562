package nn

import (
	"slices"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// Attention is the attention of one layer, with its projections.
type Attention struct {
	QKVProj *Linear
	OProj   *Linear
	QKNorm  *HeadNorm // or nil

	spec AttentionSpec
}

// An AttentionSpec says what one layer attends, and how.
type AttentionSpec struct {
	Hidden int // elements of a row
	Heads  Heads
	Bias   bool  // of each projection
	Rope   *Rope // or nil
	Layer  int   // whose cache it appends to
	Window int   // positions that a row attends, its own included; 0 = all
	Sinks  bool  // of each head, see Heads

	// QKVBias: the projections of queries, keys and values have a bias, the output's has not.
	QKVBias bool

	// Fused: the checkpoint has the projections of queries, keys and values in one, qkv_proj.
	Fused bool

	// Gated: for each head q_proj has the query and then a gate, of Heads.Dim elements each. The
	// output of the head is multiplied by the logistic function of its gate.
	Gated bool
}

// Attention reads the projections at path. The caller adds a QKNorm.
func (w *Weights) Attention(path string, spec AttentionSpec) *Attention {
	if spec.Sinks {
		spec.Heads.Sinks = w.Vector(path+".sinks", spec.Heads.Q)
	}
	h := spec.Heads
	if err := h.Growth.check(); err != nil {
		w.fail(err)
	}
	queries := h.Q * h.Dim
	if spec.Gated {
		queries *= 2
	}
	parts := []Part{
		{path + ".q_proj", queries}, {path + ".k_proj", h.KV * h.Dim}, {path + ".v_proj", h.KV * h.Dim},
	}
	if spec.Fused {
		parts = []Part{{path + ".qkv_proj", queries + 2*h.KV*h.Dim}}
	}
	t := &Attention{
		QKVProj: w.Stacked(spec.Hidden, spec.Bias || spec.QKVBias, parts...),
		OProj:   w.Linear(path+".o_proj", h.Q*h.Dim, spec.Hidden, spec.Bias),
		spec:    spec,
	}
	w.AddMixer(t)
	return t
}

// Forward implements [Mixer].
func (t *Attention) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	qkv := t.QKVProj.Forward(s, x)
	var gate *mlx.Array // (rows, Q D)
	if t.spec.Gated {
		qkv, gate = t.spec.Heads.splitGates(s, qkv)
	}
	out := t.attend(s, qkv, b)
	if t.spec.Gated {
		out = s.Mul(out, s.Sigmoid(gate))
	}
	return t.OProj.Forward(s, out)
}

// attend attends with the projected rows qkv (rows, (Q+2KV) D): (rows, Q D).
func (t *Attention) attend(s *mlx.Scope, qkv *mlx.Array, b lm.Batch) *mlx.Array {
	if split, ok := t.headSplit(s, qkv, b); ok {
		queries, k, v := s.RotatedHeads(qkv, split)
		return eachSequence(s, b, 0, func(q lm.Sequence, rows func(*mlx.Array) *mlx.Array) *mlx.Array {
			return t.spec.Heads.attendRotated(s, rows(queries), lm.KV{K: rows(k), V: rows(v)}, q, t.spec.Layer)
		})
	}
	qk, v := t.spec.Heads.Split(s, qkv)
	t.spec.Heads.Restore(s, qk, v, t.spec.Rope, b, t.spec.Layer, func(kv lm.KV) lm.KV {
		if t.QKNorm != nil {
			kv.K = t.QKNorm.Keys(s, kv.K)
		}
		return kv
	})
	if t.QKNorm != nil {
		qk = t.QKNorm.Forward(s, qk)
	}
	return t.spec.Heads.Attend(s, qk, v, t.spec.Rope, b, t.spec.Layer)
}

// headSplit returns the arguments of the one operation that splits, normalizes and rotates all rows, in place of up to
// seven for each sequence. It returns false where that operation does not apply.
func (t *Attention) headSplit(s *mlx.Scope, qkv *mlx.Array, b lm.Batch) (split mlx.HeadSplit, ok bool) {
	h := t.spec.Heads
	if !s.Fuses(qkv) || h.Dim > mlx.MaxHeadDim || slices.ContainsFunc(b, func(q lm.Sequence) bool {
		return q.Record != nil || q.BoundedAt(t.spec.Layer) != nil
	}) {
		return split, false
	}
	split = mlx.HeadSplit{Q: h.Q, KV: h.KV, Dim: h.Dim}
	if n := t.QKNorm; n != nil {
		if n.weight.Dtype() != mlx.Float32 {
			return split, false
		}
		split.Norm, split.Eps = n.weight, n.eps
	}
	if r := t.spec.Rope; r != nil {
		if !r.tabled() {
			return split, false
		}
		split.Cos, split.Sin = r.batchTable(s, b, mlx.Float32)
	}
	return split, true
}

// NewCache implements [Mixer].
func (t *Attention) NewCache(opts cache.Options) cache.Cache {
	return cache.New(opts, t.spec.Window)
}

// KVShape implements [Recordable].
func (t *Attention) KVShape() (cache int, shape lm.KVShape) {
	h := t.spec.Heads
	return t.spec.Layer, lm.KVShape{Heads: h.KV, Dim: h.Dim, Window: t.spec.Window}
}

// Mix implements [Mixer].
func (t *Attention) Mix(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	h := t.spec.Heads
	return t.attend(s, Broadcast(s, x, b.Rows(), (h.Q+2*h.KV)*h.Dim), b)
}
