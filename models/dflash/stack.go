package dflash

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// A Stack is a drafter's layers as a plain decoder over a text: causal, without taps and without
// blocks. f_theta restores the target's keys and values from those of its layers.
//
// Unusual in it: the keys and values of the last layer are all that is asked of that layer, so it
// attends nothing and has no cache. Sliding layers keep their window, in either direction of
// [Settings].
type Stack struct {
	m      *Model
	scaled bool
}

// Stack returns the layers as a stack over embeddings as they are stored, or multiplied as the
// target does for itself. It shares the weights, which are freed with m.
func (m *Model) Stack(e Embedding) (*Stack, error) {
	if err := (Settings{Embedding: e}).check(); err != nil {
		return nil, err
	}
	if m.args.second() {
		return nil, nn.Unsupported("layers of a drafter of architecture %s do not restore: "+
			"their convolutions are made for blocks", flash2Architecture)
	}
	if m.args.spark() {
		return nil, nn.Unsupported("layers of a DSpark drafter do not restore")
	}
	return &Stack{m, e == Scaled}, nil
}

// Layers returns how many layers there are, and the elements of the keys of each.
func (t *Stack) Layers() (layers, row int) {
	return len(t.m.Layers), t.m.heads.KV * t.m.heads.Dim
}

// NewCaches makes the empty caches of one sequence, for all layers but the last.
func (t *Stack) NewCaches(opts cache.Options) []cache.Cache {
	caches := make([]cache.Cache, len(t.m.Layers)-1)
	for i := range caches {
		caches[i] = cache.New(opts, t.m.args.window(i))
	}
	return caches
}

// KeysValues evaluates a batch on caches that NewCaches made. It returns the keys and the values of
// all layers, layer by layer (rows, layers KV D), before norm and rotary embedding.
func (t *Stack) KeysValues(s *mlx.Scope, b lm.Batch) (k, v *mlx.Array) {
	m, h := t.m, t.m.heads
	tokens := make([]*mlx.Array, len(b))
	for i, q := range b {
		tokens[i] = q.Tokens
	}
	x := m.target.Embed(s, s.Concat(0, tokens...)) // (rows, H)
	if scale := m.target.EmbedScale(); scale != 1 && t.scaled {
		x = s.Mul(x, s.Scalar(scale, x.Dtype()))
	}
	x = s.AsType(x, m.Dtype())
	queries, row := h.Q*h.Dim, h.KV*h.Dim
	var keys, values []*mlx.Array
	for i, l := range m.Layers {
		normed := l.InputLayernorm.Forward(s, x)
		if i == len(m.Layers)-1 {
			kv := l.KVProj.Forward(s, normed)
			keys = append(keys, s.Slice(kv, 1, 0, row))
			values = append(values, s.Slice(kv, 1, row, 2*row))
			break
		}
		qkv := l.QKVProj.Forward(s, normed)
		keys = append(keys, s.Slice(qkv, 1, queries, queries+row))
		values = append(values, s.Slice(qkv, 1, queries+row, queries+2*row))
		qk, v := h.Split(s, qkv)
		out := h.Attend(s, l.QKNorm.Forward(s, qk), v, m.rope, b, i) // (rows, Q D)
		if l.GProj != nil {
			rows := out.Dim(0)
			gated := s.Mul(s.Reshape(out, rows, h.Q, h.Dim), s.Reshape(l.gate(s, normed), rows, h.Q, 1))
			out = s.Reshape(gated, rows, queries)
		}
		x = s.FusedAdd(x, l.OProj.Forward(s, out))
		x = s.FusedAdd(x, l.MLP.Forward(s, l.PostAttentionLayernorm.Forward(s, x)))
	}
	return s.Concat(1, keys...), s.Concat(1, values...)
}
