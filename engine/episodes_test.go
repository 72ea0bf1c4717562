package engine

import (
	"math"
	"slices"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// Positions 0 to 2 are an episode, 3 to 5 the next one, and so on.
const (
	episode = 3
	words   = 12 // vocabulary
	width   = 8
)

// An episodic model is a random transformer of two layers with rings. Its output for a position
// depends only on the tokens of that episode before it. So the episodes of a long generation are
// independent draws from one distribution.
type episodic struct {
	embed  *mlx.Array // (V, H)
	phase  *mlx.Array // (episode, H): by position in the episode
	layers [2]struct{ q, o *mlx.Array }
	head   *mlx.Array // (H, V)

	// lean is added to the logit of each draft in a block, which biases the acceptance towards
	// drafts. blind accepts all of them unseen.
	lean   float64
	blind  bool
	drafts *mlx.Array // (rows-1) of the last forward, nil if it was not a block
}

func newEpisodic(s *mlx.Scope) *episodic {
	seed := uint64(0)
	random := func(scale float64, shape ...int) *mlx.Array {
		seed++
		return s.Keep(s.Normal(s.Key(seed), mlx.Float32, 0, float32(scale), shape...))
	}
	m := &episodic{embed: random(0.5, words, width), phase: random(1, episode, width)}
	for i := range m.layers {
		m.layers[i].q, m.layers[i].o = random(1, width, width),
			random(1/math.Sqrt(width), width, width)
	}
	m.head = random(1.2/math.Sqrt(width), width, words)
	s.Eval(m.arrays()...)
	return m
}

func (m *episodic) arrays() []*mlx.Array {
	return []*mlx.Array{m.embed, m.phase, m.head, m.layers[0].q, m.layers[0].o, m.layers[1].q,
		m.layers[1].o}
}

func (m *episodic) Config() lm.Config {
	return lm.Config{VocabSize: words, HiddenSize: width, Layers: len(m.layers),
		ContextLength: 1 << 16, Dtype: mlx.Float32}
}

func (m *episodic) NewCaches(opts cache.Options) []cache.Cache {
	return []cache.Cache{cache.New(opts, episode), cache.New(opts, episode)}
}

// Forward implements lm.Model. The last row of an episode predicts the first token of the next one.
// It sees no token, so it depends on its position alone.
func (m *episodic) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	var hidden []*mlx.Array
	for _, q := range b {
		phases, known := make([]int32, q.N), make([]float32, q.N)
		for i := range q.N {
			if phases[i] = int32((q.Pos + i) % episode); phases[i] < episode-1 {
				known[i] = 1
			}
		}
		// (N, H)
		x := s.Add(s.Mul(s.Take(m.embed, q.Tokens, 0), mlx.New(s, known, q.N, 1)),
			s.Take(m.phase, mlx.New(s, phases, q.N), 0))
		for i, l := range m.layers {
			row := s.Reshape(x, 1, 1, q.N, width)
			view := q.Caches[i].(cache.Attention).Update(s, row, row)
			slots := view.K.Dim(2)
			mask := make([]bool, q.N*slots)
			for j := range q.N {
				pos := q.Pos + j
				for p := pos; p >= 0 && p/episode == pos/episode; p-- {
					mask[j*slots+p%slots] = p == pos || pos%episode < episode-1
				}
			}
			a := s.Attention(s.Reshape(s.MatMul(x, l.q), 1, 1, q.N, width), view.K, view.V,
				1/math.Sqrt2, mlx.New(s, mask, q.N, slots), nil)
			x = s.RMSNorm(s.Add(x, s.MatMul(s.Reshape(a, q.N, width), l.o)), nil, 1e-6)
		}
		hidden = append(hidden, x)
		if m.drafts = nil; q.N > 1 {
			m.drafts = s.Slice(q.Tokens, 0, 1, q.N)
		}
	}
	out := s.Concat(0, hidden...)
	return lm.Output{Hidden: out, Taps: slices.Repeat([]*mlx.Array{out}, len(taps))}
}

func (m *episodic) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := s.MatMul(hidden, m.head)
	n := hidden.Dim(0)
	if m.lean == 0 && !m.blind || m.drafts == nil || n == 1 { // plain rounds may share a forward
		return logits
	}
	bonus := make([]float32, n) // none for the token after the last draft
	for i := range n - 1 {
		if bonus[i] = float32(m.lean); m.blind {
			bonus[i] = 100
		}
	}
	at := s.Reshape(m.drafts, n-1, 1)
	at = s.Concat(0, at, s.Slice(at, 0, 0, 1))
	return s.Add(logits, s.PutAlong(s.Zeros(mlx.Float32, n, words), at, mlx.New(s, bonus, n, 1),
		-1))
}

func (m *episodic) Free() {
	for _, a := range m.arrays() {
		a.Free()
	}
}

// prefixes lists the beginnings of an episode: the empty one, each token, each pair of tokens.
func prefixes() (list [][]int32) {
	list = append(list, nil)
	for a := range int32(words) {
		list = append(list, []int32{a})
	}
	for a := range int32(words) {
		for b := range int32(words) {
			list = append(list, []int32{a, b})
		}
	}
	return list
}

// A guesser drafts for a model by the position in the episode alone. Some of its guesses are right.
type guesser struct {
	table *mlx.Array // (episode, V) logits
	sure  bool       // reports no distribution, like a drafter that looks its guesses up
}

// newGuesser returns the guesser of the target's average prediction, given its logits after each
// prefix.
func newGuesser(s *mlx.Scope, logits [][]float32) *guesser {
	table := make([]float32, episode*words)
	for i, prefix := range prefixes() {
		for id, x := range logits[i] {
			table[len(prefix)*words+id] += x / float32(math.Pow(words, float64(len(prefix))))
		}
	}
	return &guesser{table: s.Keep(mlx.New(s, table, episode, words))}
}

func (*guesser) Name() string   { return "guesser" }
func (*guesser) Taps() []int    { return nil }
func (*guesser) MaxDrafts() int { return MaxDepth }

func (g *guesser) Open(_ *mlx.Scope, o draft.Options) (draft.Draft, error) {
	return &guess{g, o.Sampler}, nil
}

// guess is the draft of one request.
type guess struct {
	*guesser
	sampler *sample.Sampler
}

// Propose implements draft.Draft.
func (g *guess) Propose(s *mlx.Scope, history []int32, n int) draft.Proposal {
	phases := make([]int32, n)
	for i := range phases {
		phases[i] = int32((len(history) + i) % episode)
	}
	x := g.sampler.Process(s, s.Take(g.table, mlx.New(s, phases, n), 0), nil, nil)
	tokens := g.sampler.Choose(s, x, len(history))
	if g.sure {
		x = nil
	}
	return draft.Proposal{N: n, Tokens: tokens, LogQ: x}
}

func (*guess) Committed(*mlx.Scope, []int32, int, []*mlx.Array) {}
func (*guess) Arrays() []*mlx.Array                             { return nil }
func (*guess) Free(*mlx.Scope)                                  {}

// A blockGuesser is a block network that guesses as a guesser does. Arbitrary edges may be added along
// a path, or along a chain, and some tokens may be left out.
type blockGuesser struct {
	*guesser
	edges *mlx.Array // (V, V), by predecessor

	candidates int        // of a path; 0 for independent rows
	chained    bool       // rows are corrected by the edges
	cut        *mlx.Array // (C), nil for all tokens
}

// newBlockGuessers returns a network of each kind, by name. They share their arrays.
func newBlockGuessers(s *mlx.Scope, g *guesser) map[string]*blockGuesser {
	edges := s.Keep(s.Normal(s.Key(100), mlx.Float32, 0, 0.5, words, words))
	cut := s.Keep(mlx.New(s, []int32{0, 1, 2, 4, 5, 7, 8, 9, 11}, 9))
	s.Eval(edges)
	return map[string]*blockGuesser{
		"walk":     {guesser: g, edges: edges, candidates: 6},
		"chain":    {guesser: g, edges: edges, chained: true},
		"cut head": {guesser: g, edges: edges, cut: cut},
		"cut walk": {guesser: g, edges: edges, cut: cut, candidates: 6},
	}
}

func (*blockGuesser) Taps() []int              { return []int{0} }
func (*blockGuesser) BlockSize() int           { return 8 }
func (*blockGuesser) MaskToken() int32         { return 0 }
func (g *blockGuesser) Candidates() int        { return g.candidates }
func (g *blockGuesser) Markov() bool           { return g.chained }
func (g *blockGuesser) Vocabulary() *mlx.Array { return g.cut }

func (*blockGuesser) NewCaches(cache.Options) []cache.Cache { return []cache.Cache{cache.NewKV(0)} }

func (*blockGuesser) Context(s *mlx.Scope, taps []*mlx.Array, _ int, caches []cache.Cache) {
	row := s.Zeros(mlx.Float32, 1, 1, taps[0].Dim(0), 1)
	caches[0].(cache.Attention).Update(s, row, row)
}

// Forward returns the logits of all tokens.
func (g *blockGuesser) Forward(s *mlx.Scope, taps []*mlx.Array, known *mlx.Array, n, pos int,
	caches []cache.Cache) *mlx.Array {
	if taps != nil {
		g.Context(s, taps, 0, caches)
	}
	phases := make([]int32, n)
	for i := range phases {
		phases[i] = int32((pos + known.Dim(0) + i) % episode)
	}
	return s.Take(g.table, mlx.New(s, phases, n), 0)
}

func (g *blockGuesser) Unembed(s *mlx.Scope, logits *mlx.Array) *mlx.Array {
	if g.cut == nil {
		return logits
	}
	return s.Take(logits, g.cut, 1)
}

func (g *blockGuesser) Edges(s *mlx.Scope, _, predecessors, candidates *mlx.Array) *mlx.Array {
	n, p, k := candidates.Dim(0), predecessors.Dim(1), candidates.Dim(1)
	rows := s.Take(g.edges, predecessors, 0) // (n, P, V)
	return s.TakeAlong(rows, s.BroadcastTo(s.Reshape(candidates, n, 1, k), n, p, k), -1)
}

func (g *blockGuesser) Correction(s *mlx.Scope, previous *mlx.Array) *mlx.Array {
	return s.Take(g.edges, previous, 0)
}

func (*blockGuesser) Trust(*mlx.Scope, *mlx.Array, *mlx.Array) *mlx.Array { return nil }

// A liar reports another distribution than its drafter draws from.
type liar struct{ draft.Drafter }

func (l liar) Open(s *mlx.Scope, o draft.Options) (draft.Draft, error) {
	d, err := l.Drafter.Open(s, o)
	return lies{d}, err
}

// lies is the draft of one request.
type lies struct{ draft.Draft }

func (l lies) Propose(s *mlx.Scope, history []int32, n int) draft.Proposal {
	p := l.Draft.Propose(s, history, n)
	p.LogQ = s.Mul(p.LogQ, s.Scalar(0.8, mlx.Float32))
	return p
}

var (
	_ draft.PathBlock   = (*blockGuesser)(nil)
	_ draft.MarkovBlock = (*blockGuesser)(nil)
	_ draft.CutBlock    = (*blockGuesser)(nil)
)
