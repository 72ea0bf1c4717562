package sample

import (
	"maps"
	"slices"

	"tandem/engine/mlx"
)

// A Sampler draws the tokens of one request. It is used on the MLX thread only.
type Sampler struct {
	params Params
	seed   uint64
	vocab  int

	// Kept arrays of shape (1, V), present only where params ask for them.
	seen   *mlx.Array // bool: in prompt or output
	counts *mlx.Array // float32: occurrences in the output
	bias   *mlx.Array // float32

	held held

	of  *Sampler   // of all tokens, if this one is of some; nil otherwise
	ids *mlx.Array // (V) int32 of those, ascending
}

// held is noise that draws share, also in later rounds.
type held struct {
	pos, n int
	rows   *mlx.Array // (n, V), kept; nil = none
}

// New makes a sampler for a prompt. Params must have passed Check.
func New(s *mlx.Scope, p Params, seed uint64, vocab int, prompt []int32) *Sampler {
	m := &Sampler{params: p.bounded(), seed: seed, vocab: vocab}
	if p.penalised() {
		seen := make([]bool, vocab)
		for _, id := range prompt {
			if int(id) < vocab {
				seen[id] = true
			}
		}
		m.seen = s.Keep(mlx.New(s, seen, 1, vocab))
		m.counts = s.Keep(s.Zeros(mlx.Float32, 1, vocab))
	}
	if len(p.LogitBias) > 0 {
		bias := make([]float32, vocab)
		for _, id := range slices.Sorted(maps.Keys(p.LogitBias)) {
			bias[id] = min(max(p.LogitBias[id], -maxAddend), maxAddend)
		}
		m.bias = s.Keep(mlx.New(s, bias, 1, vocab))
	}
	return m
}

// Draw returns the token (1) int32 that takes the absolute position pos, from the logits (1, V) at
// the position before. allowed is as in Process.
func (m *Sampler) Draw(s *mlx.Scope, logits, allowed *mlx.Array, pos int) *mlx.Array {
	return m.Choose(s, m.Process(s, logits, nil, allowed), pos)
}

// Choose returns the tokens (n) int32 that take positions pos, pos+1, ..., from their processed
// distributions (n, V).
func (m *Sampler) Choose(s *mlx.Scope, x *mlx.Array, pos int) *mlx.Array {
	if !m.params.Greedy() {
		x = s.Add(x, m.noise(s, draws, pos, x.Dim(0)))
	}
	return s.AsType(s.Argmax(x, -1), mlx.Int32)
}

// Over returns the sampler of the same request for logits of some tokens alone, ids (C) int32 in
// ascending order: all its ids and sizes are the list's. It belongs to s and observes nothing.
func (m *Sampler) Over(s *mlx.Scope, ids *mlx.Array) *Sampler {
	cut := func(a *mlx.Array) *mlx.Array {
		if a == nil {
			return nil
		}
		return s.Take(a, ids, 1)
	}
	return &Sampler{params: m.params, vocab: ids.Dim(0), of: m, ids: ids,
		seen: cut(m.seen), counts: cut(m.counts), bias: cut(m.bias)}
}

// AddNoise adds to scores (n, k) of tokens (n, k) int32 the noise that Choose adds to them at
// positions pos, pos+1, ...
func (m *Sampler) AddNoise(s *mlx.Scope, scores, tokens *mlx.Array, pos int) *mlx.Array {
	if m.params.Greedy() {
		return scores
	}
	if m.of != nil {
		return m.of.AddNoise(s, scores, s.Take(m.ids, tokens, 0), pos)
	}
	return s.Add(scores, s.TakeAlong(m.noise(s, draws, pos, scores.Dim(0)), tokens, -1))
}

// Tempered returns what x, an addend of logits, adds to their processed form.
func (m *Sampler) Tempered(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if m.params.Greedy() {
		return x
	}
	return s.Mul(x, s.Scalar(1/m.params.Temperature, mlx.Float32))
}

// Hold makes the noise of n positions from pos on once. Proposals and the target's own tokens draw
// with it. Later rounds draw with the rows that are left: a rejected draft's position comes again.
// The returned array is to be evaluated with the proposal; it is nil for greedy requests.
func (m *Sampler) Hold(s *mlx.Scope, pos, n int) []*mlx.Array {
	if m.params.Greedy() {
		return nil
	}
	var rows []*mlx.Array
	from, old := pos, m.held
	if end := old.pos + old.n; old.rows != nil && pos >= old.pos && pos < end {
		from, n = end, max(n, end-pos)
		rows = append(rows, s.Slice(old.rows, 0, pos-old.pos, old.n))
	}
	if more := pos + n - from; more > 0 {
		rows = append(rows, m.makeNoise(s, draws, from, more))
	}
	m.Release(s)
	all := s.Concat(0, rows...)
	if s.Err() == nil {
		m.held = held{pos: pos, n: n, rows: s.Keep(all)}
	}
	return m.Held()
}

// Held returns the shared noise, which an evaluation may compute before anything draws with it.
func (m *Sampler) Held() []*mlx.Array {
	if m.held.rows == nil {
		return nil
	}
	return []*mlx.Array{m.held.rows}
}

// Release drops the shared noise. Call it after a failed round, whose noise may not be computed.
func (m *Sampler) Release(s *mlx.Scope) {
	if m.held.rows != nil {
		s.Adopt(m.held.rows)
	}
	m.held = held{}
}

// noise returns the Gumbel noise (n, V) of positions pos, pos+1, ... It drops shared noise of earlier
// positions alone.
func (m *Sampler) noise(s *mlx.Scope, u use, pos, n int) *mlx.Array {
	if m.of != nil {
		return s.Take(m.of.noise(s, u, pos, n), m.ids, 1)
	}
	if h := m.held; u == draws && h.rows != nil && pos >= h.pos {
		if pos+n <= h.pos+h.n {
			return s.Slice(h.rows, 0, pos-h.pos, pos-h.pos+n)
		}
		if pos >= h.pos+h.n {
			m.Release(s)
		}
	}
	return m.makeNoise(s, u, pos, n)
}

// makeNoise computes what noise returns.
func (m *Sampler) makeNoise(s *mlx.Scope, u use, pos, n int) *mlx.Array {
	x := m.uniform(s, u, pos, n, m.vocab)
	return s.Neg(s.Log(s.Neg(s.Log(x))))
}

// uniform returns numbers (n, width) from (0, 1). Row i depends on (seed, u, pos+i) alone. Only the
// bits are drawn row by row: each operation costs the host, and on a GPU a launch.
func (m *Sampler) uniform(s *mlx.Scope, u use, pos, n, width int) *mlx.Array {
	rows := make([]*mlx.Array, n)
	for i := range rows {
		rows[i] = s.Bits(s.Key(key(m.seed, u, pos+i)), 1, width)
	}
	x := s.AsType(s.Concat(0, rows...), mlx.Float32)
	x = s.Mul(x, s.Scalar(1.0/(1<<32), mlx.Float32))
	// The largest numbers were rounded up to 1. The noise of 0 would be -inf, as of a forbidden token.
	return s.Clip(x, s.Scalar(1.0/(1<<33), mlx.Float32), s.Scalar(1-1.0/(1<<24), mlx.Float32))
}

// Process returns the processed distributions of logits (n, V) as unnormalised float32
// log-probabilities (n, V), -inf where they have no mass. For greedy requests only penalties, bias
// and allowed apply.
//
// Row i follows the first i of drafts: at least n-1 int32 ids, which may be unevaluated and are not
// observed by this call. If drafts is nil, all rows follow the observed tokens. allowed (n, V) bool
// says which tokens may be drawn; nil allows all.
func (m *Sampler) Process(s *mlx.Scope, logits, drafts, allowed *mlx.Array) *mlx.Array {
	x := s.AsType(logits, mlx.Float32)
	if m.seen != nil {
		x = m.penalise(s, x, drafts)
	}
	if m.bias != nil {
		x = s.Add(x, m.bias)
	}
	if allowed != nil {
		x = keep(s, x, allowed)
	}
	if m.params.Greedy() {
		return x
	}
	x = s.Mul(x, s.Scalar(1/m.params.Temperature, mlx.Float32))
	if k := m.params.TopK; k > 0 && k < m.vocab {
		x = keep(s, x, atLeastKth(s, x, k))
	}
	if p := m.params.TopP; p > 0 && p < 1 {
		x = m.topP(s, x, p)
	}
	if p := m.params.MinP; p > 0 {
		probs := s.Softmax(x, -1)
		floor := s.Mul(s.Max(probs, -1, true), s.Scalar(p, mlx.Float32))
		x = keep(s, x, s.LessEqual(floor, probs))
	}
	return x
}

// penalise applies the repetition, presence and frequency penalties to x
// (n, V), whose row i also counts the first i drafts.
func (m *Sampler) penalise(s *mlx.Scope, x, drafts *mlx.Array) *mlx.Array {
	zero := s.Scalar(0, mlx.Float32)
	seen, counts := m.seen, m.counts
	if n := x.Dim(0); n > 1 && drafts != nil {
		// An empty row, then one row for each draft: (n, V).
		ids := s.Reshape(s.Slice(drafts, 0, 0, n-1), n-1, 1)
		each := s.AsType(s.Equal(ids, s.Reshape(s.Arange(0, m.vocab, mlx.Int32), 1, m.vocab)),
			mlx.Float32)
		added := s.Concat(0, s.Zeros(mlx.Float32, 1, m.vocab), s.Cumsum(each, 0))
		seen, counts = s.Or(seen, s.Less(zero, added)), s.Add(counts, added)
	}
	if r := m.params.RepetitionPenalty; r != 0 && r != 1 {
		rep := s.Scalar(r, mlx.Float32)
		x = s.Where(seen, s.Where(s.Less(x, zero), s.Mul(x, rep), s.Div(x, rep)), x)
	}
	if f := m.params.FrequencyPenalty; f != 0 {
		x = s.Sub(x, s.Mul(counts, s.Scalar(f, mlx.Float32)))
	}
	if p := m.params.PresencePenalty; p != 0 {
		present := s.AsType(s.Less(zero, counts), mlx.Float32)
		x = s.Sub(x, s.Mul(present, s.Scalar(p, mlx.Float32)))
	}
	return x
}

// Observe adds drawn tokens (n) int32, which may be unevaluated, to the history that penalties
// count.
func (m *Sampler) Observe(s *mlx.Scope, tokens *mlx.Array) {
	if m.seen == nil {
		return
	}
	n := tokens.Dim(0)
	at := s.Reshape(tokens, 1, n)
	seen := s.Keep(s.PutAlong(m.seen, at, s.BroadcastTo(mlx.New(s, []bool{true}, 1, 1), 1, n), -1))
	counts := s.Keep(s.ScatterAdd(m.counts, at, s.BroadcastTo(mlx.New(s, []float32{1}, 1, 1), 1, n),
		-1))
	s.Adopt(m.seen)
	s.Adopt(m.counts)
	m.seen, m.counts = seen, counts
}

// Arrays returns the kept arrays, for Eval.
func (m *Sampler) Arrays() []*mlx.Array {
	if m.seen == nil {
		return nil
	}
	return []*mlx.Array{m.seen, m.counts}
}

// Free releases the sampler's arrays.
func (m *Sampler) Free() {
	m.held.rows.Free()
	m.seen.Free()
	m.counts.Free()
	m.bias.Free()
}

// topP keeps the smallest set of the likeliest tokens whose mass reaches p: every token before
// which less than p was taken. Where top-k already bounds the candidates, only those are sorted.
func (m *Sampler) topP(s *mlx.Scope, x *mlx.Array, p float64) *mlx.Array {
	probs := s.Softmax(x, -1)
	var order *mlx.Array
	if k := m.params.TopK; k > 0 && k < m.vocab {
		order = descending(s, x, k)
	} else {
		order = s.Argsort(s.Neg(x), -1)
	}
	sorted := s.TakeAlong(probs, order, -1)
	before := s.Sub(s.Cumsum(sorted, -1), sorted)
	// The likeliest token stays for any p: nothing is taken before it.
	kept := s.Less(before, s.Scalar(max(p, 1e-9), mlx.Float32))
	return keep(s, x, s.PutAlong(s.Zeros(mlx.Bool, x.Dim(0), m.vocab), order, kept, -1))
}

// keep replaces x by -inf where mask is false.
func keep(s *mlx.Scope, x, mask *mlx.Array) *mlx.Array {
	return s.Where(mask, x, s.Scalar(negInf, mlx.Float32))
}
