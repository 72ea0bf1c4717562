package enginetest

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A Chain is a language model whose logits after a token are a row of a table: a Markov chain of
// order one. It runs on MLX like a real model and writes each token's id into its caches, so that a
// test can see what they hold.
type Chain struct {
	table  *mlx.Array // (V, V) float32, kept
	config lm.Config

	// Forwards records the shape of every forward: the rows of each sequence.
	Forwards [][]int
	// OnForward, if set, is called with the number of the forward, before it.
	OnForward func(n int)
	// Wide is the head dimension of the caches; 0 means 1.
	Wide int
	// Wrap, if set, gets every cache that NewCaches makes and may replace it.
	Wrap func(layer int, c cache.Attention) cache.Attention
}

// ChainContext is the context length of a Chain.
const ChainContext = 32768

// NewChain makes a model from a square table of logits. Ids in eos end a generation.
func NewChain(s *mlx.Scope, table [][]float32, eos ...int32) *Chain {
	var flat []float32
	for _, row := range table {
		flat = append(flat, row...)
	}
	v := len(table)
	return &Chain{
		table: s.Keep(mlx.New(s, flat, v, v)),
		config: lm.Config{
			VocabSize: v, HiddenSize: v, Layers: 2, ContextLength: ChainContext,
			EOS: eos, Dtype: mlx.Float32,
		},
	}
}

// Config implements lm.Model.
func (m *Chain) Config() lm.Config { return m.config }

// NewCaches implements lm.Model: a full cache and a ring with a window of 4.
func (m *Chain) NewCaches(opts cache.Options) []cache.Cache {
	list := []cache.Cache{cache.New(opts, 0), cache.New(opts, 4)}
	for i, c := range list {
		if m.Wrap != nil {
			list[i] = m.Wrap(i, c.(cache.Attention))
		}
	}
	return list
}

// Forward implements lm.Model. Every layer's output is the row of logits.
func (m *Chain) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	if m.OnForward != nil {
		m.OnForward(len(m.Forwards))
	}
	var rows []int
	for _, q := range b {
		rows = append(rows, q.N)
	}
	m.Forwards = append(m.Forwards, rows)
	var hidden []*mlx.Array
	mark := s.Mark()
	for _, q := range b {
		row := s.Reshape(s.AsType(q.Tokens, mlx.Float32), 1, 1, q.N, 1)
		for _, c := range q.Caches {
			if c.Offset() != q.Pos {
				panic("enginetest: a cache does not stand at its sequence's position")
			}
			wide := s.BroadcastTo(row, 1, 1, q.N, max(m.Wide, 1))
			view := c.(cache.Attention).Update(s, wide, wide)
			// Depend on the cache, as attention would, without changing the result.
			zero := s.Mul(s.Sum(s.Reshape(view.K, -1), 0, true), s.Scalar(0, mlx.Float32))
			row = s.Add(row, zero)
			s.Pause(mark, append(hidden, row)...)
		}
		hidden = append(hidden, s.Take(m.table, s.AsType(s.Reshape(row, q.N), mlx.Int32), 0))
	}
	out := lm.Output{Hidden: s.Concat(0, hidden...)}
	for range taps {
		out.Taps = append(out.Taps, out.Hidden)
	}
	return out
}

// Unembed implements lm.Model: the hidden state is the row of logits.
func (m *Chain) Unembed(_ *mlx.Scope, hidden *mlx.Array) *mlx.Array { return hidden }

// Free implements lm.Model.
func (m *Chain) Free() { m.table.Free() }

// Cycle returns a table over v ids in which id follows id-1, and 0 follows v-1.
func Cycle(v int) [][]float32 {
	table := make([][]float32, v)
	for i := range table {
		table[i] = make([]float32, v)
		table[i][(i+1)%v] = 10
	}
	return table
}
