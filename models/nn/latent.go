package nn

import (
	"math"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// LatentAttention is multi-head latent attention (MLA) of one layer, with its projections. The keys
// and values of all heads are linear maps of one short row a position, its latent. A part of each
// key that all heads share is rotated. The cache keeps the latent and the rotated part, as keys and
// as values, and nothing for a head.
//
// A head attends the latents themselves. EmbedQ maps its query to where latents are keys.
// UnembedOut maps the sum of latents to its output. mlx_lm does so for one row, and for more rows
// expands keys and values of all positions. Here one arithmetic serves any number of rows, so that
// the result for a row does not depend on how many come with it. In chunks of 512 rows, both take
// about as many products: an expansion covers all positions again for each chunk.
type LatentAttention struct {
	QAProj      *Linear // nil = QBProj takes the rows themselves
	QALayernorm *RMSNorm
	QBProj      *Linear // (heads (Nope+Rope))

	KVAProj      *Linear // (Rank+Rope)
	KVALayernorm *RMSNorm

	EmbedQ     *headLinear // Nope to Rank
	UnembedOut *headLinear // Rank to Value
	OProj      *Linear

	spec LatentSpec
}

// A LatentSpec says what one layer of latent attention attends, and how.
type LatentSpec struct {
	Hidden  int // elements of a row
	Heads   int
	QRank   int // elements of what queries are made of; 0 = the row itself
	Rank    int // elements of a latent
	Nope    int // elements of a query that are not rotated
	Rotated int // elements of a query and of the shared key that are
	Value   int // elements of a head's output
	Bias    bool
	Eps     float64 // of the norms
	Scale   float32 // of the scores
	Rope    *Rope
	Layer   int // whose cache it appends to
}

// LatentAttention reads the projections at path.
func (w *Weights) LatentAttention(path string, spec LatentSpec) *LatentAttention {
	t := &LatentAttention{spec: spec}
	width := spec.Heads * (spec.Nope + spec.Rotated)
	if spec.QRank > 0 {
		t.QAProj = w.Linear(path+".q_a_proj", spec.Hidden, spec.QRank, spec.Bias)
		t.QALayernorm = w.RMSNorm(path+".q_a_layernorm", spec.QRank, spec.Eps, 0)
		t.QBProj = w.Linear(path+".q_b_proj", spec.QRank, width, false)
	} else {
		t.QBProj = w.Linear(path+".q_proj", spec.Hidden, width, false)
	}
	t.KVAProj = w.Linear(path+".kv_a_proj_with_mqa", spec.Hidden, spec.Rank+spec.Rotated, spec.Bias)
	t.KVALayernorm = w.RMSNorm(path+".kv_a_layernorm", spec.Rank, spec.Eps, 0)
	t.EmbedQ, t.UnembedOut = w.latentMaps(path, spec)
	t.OProj = w.Linear(path+".o_proj", spec.Heads*spec.Value, spec.Hidden, spec.Bias)
	w.AddMixer(t)
	return t
}

// Forward implements [Mixer].
func (t *LatentAttention) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	c, from := t.spec, x
	if t.QAProj != nil {
		from = t.QALayernorm.Forward(s, t.QAProj.Forward(s, x))
	}
	q := SplitHeads(s, t.QBProj.Forward(s, from), c.Heads, c.Nope+c.Rotated)
	kv := t.KVAProj.Forward(s, x)
	latent := t.KVALayernorm.Forward(s, s.Slice(kv, 1, 0, c.Rank))
	key := s.Slice(kv, 1, c.Rank, c.Rank+c.Rotated)
	out := t.attend(s, latentRows{
		q:      t.EmbedQ.Forward(s, s.Slice(q, 3, 0, c.Nope)),
		qRope:  s.Slice(q, 3, c.Nope, c.Nope+c.Rotated),
		latent: SplitHeads(s, latent, 1, c.Rank),
		key:    SplitHeads(s, key, 1, c.Rotated),
	}, b)
	return t.OProj.Forward(s, joinHeads(s, t.UnembedOut.Forward(s, out)))
}

// NewCache implements [Mixer].
func (t *LatentAttention) NewCache(opts cache.Options) cache.Cache { return cache.New(opts, 0) }

// Mix implements [Mixer].
func (t *LatentAttention) Mix(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	c, rows := t.spec, b.Rows()
	fill := func(heads, dim int) *mlx.Array {
		return SplitHeads(s, Broadcast(s, x, rows, heads*dim), heads, dim)
	}
	return joinHeads(s, t.attend(s, latentRows{
		q: fill(c.Heads, c.Rank), qRope: fill(c.Heads, c.Rotated),
		latent: fill(1, c.Rank), key: fill(1, c.Rotated),
	}, b))
}

// latentRows are the rows of a batch before attention.
type latentRows struct {
	q      *mlx.Array // (1, heads, rows, Rank)
	qRope  *mlx.Array // (1, heads, rows, Rotated), not rotated yet
	latent *mlx.Array // (1, 1, rows, Rank)
	key    *mlx.Array // (1, 1, rows, Rotated), not rotated yet
}

// attend appends the rows of each sequence to its cache. It returns the sums of latents that the
// queries attend to, (1, heads, rows, Rank).
func (t *LatentAttention) attend(s *mlx.Scope, x latentRows, b lm.Batch) *mlx.Array {
	turned := s.Concat(1, x.qRope, x.key)
	heads := t.spec.Heads
	return eachSequence(s, b, 2, func(q lm.Sequence, rows func(*mlx.Array) *mlx.Array) *mlx.Array {
		turned := t.spec.Rope.Forward(s, rows(turned), q.Pos)
		key := s.Slice(turned, 1, heads, heads+1)
		view := q.Caches[t.spec.Layer].(cache.Attention).Update(s, rows(x.latent), key)
		if s.Err() != nil {
			return rows(x.q)
		}
		return t.attendView(s, rows(x.q), s.Slice(turned, 1, 0, heads), view, q)
	})
}

// attendView attends a view, whose keys are latents and whose values are rotated keys. q and qRope
// are the queries of one sequence.
func (t *LatentAttention) attendView(s *mlx.Scope, q, qRope *mlx.Array, view cache.View,
	seq lm.Sequence) *mlx.Array {
	view = view.Dequantize(s)
	n, past := seq.N, view.K.Dim(2)-seq.N
	block := n // queries at a time
	switch {
	case seq.Apart:
		block = 1
	case !s.Thread().GPU():
		block = min(n, causalRows)
	}
	var outs []*mlx.Array
	for from := 0; from < n; from += block {
		to := min(from+block, n)
		outs = append(outs, t.attendBlock(s, s.Slice(q, 2, from, to), s.Slice(qRope, 2, from, to),
			s.Slice(view.K, 2, 0, past+to), s.Slice(view.V, 2, 0, past+to)))
	}
	return s.Concat(2, outs...)
}

// attendBlock attends latent (1, 1, T, Rank) and key (1, 1, T, Rotated) with the queries at the last n
// of the T positions.
func (t *LatentAttention) attendBlock(s *mlx.Scope, q, qRope, latent, key *mlx.Array) *mlx.Array {
	n, all := q.Dim(2), key.Dim(2)
	h := Heads{Q: t.spec.Heads, KV: 1, Dim: t.spec.Rank, Scale: t.spec.Scale}
	if plainOnCPU(s, q) {
		qRope = s.Mul(qRope, constant(s, float64(h.Scale)*math.Log2E, mlx.Float32))
		scores := s.MatMul(s.Reshape(qRope, 1, 1, h.Q*n, t.spec.Rotated), s.Transpose(key, 0, 1, 3, 2))
		scores = s.Reshape(scores, 1, 1, h.Q, n, all)
		if n > 1 {
			scores = s.Add(scores, causalBias(s, n, all))
		}
		return h.attendScores(s, q, latent, latent, scores)
	}
	scale := constant(s, float64(h.Scale), q.Dtype())
	scores := s.MatMul(s.Mul(qRope, scale), s.Transpose(key, 0, 1, 3, 2)) // (1, heads, n, T)
	if n > 1 {
		scores = s.Where(causalMask(s, n, all), scores, constant(s, -1e30, scores.Dtype()))
	}
	return s.Attention(q, latent, latent, h.Scale, scores, nil)
}
