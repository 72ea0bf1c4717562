package draft

import (
	"math"

	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A PathBlock is a Block whose rows are no guesses of their own: what a row says is scored by the
// token before it too. Its proposal is a walk from row to row.
type PathBlock interface {
	Block

	// Candidates is among how many of a row's likeliest tokens the walk chooses. 0 means that the
	// rows are independent all the same.
	Candidates() int

	// Edges returns what is added to the logits of candidates (n, K) that come after predecessors
	// (n, P), both int32 ids: (n, P, K) in float32. hidden (n, H) is what Forward returned.
	Edges(s *mlx.Scope, hidden, predecessors, candidates *mlx.Array) *mlx.Array
}

// propose guesses a token for each row of hidden (n, H), which block made, at positions from pos on.
// last is the token before them. logits (n, V) float32 are those of the rows, with -inf for what must
// not be guessed.
func propose(s *mlx.Scope, block Block, sampler *sample.Sampler, hidden, logits *mlx.Array, last int32,
	pos int) Proposal {
	x := sampler.Process(s, logits, nil, nil)
	if b, ok := block.(PathBlock); ok && b.Candidates() > 0 {
		return walk(s, b, sampler, hidden, x, last, pos)
	}
	return Proposal{N: x.Dim(0), Tokens: sampler.Choose(s, x, pos), LogQ: x}
}

// walk proposes along a path from last through the rows of x (n, V), their processed distributions.
// At each row it draws among the likeliest candidates by x and by the edges from the token chosen
// before, with the request's own noise at that position. Edges between all candidates of adjacent
// rows are computed at once, so a step is three small operations, and none is read.
func walk(s *mlx.Scope, b PathBlock, sampler *sample.Sampler, hidden, x *mlx.Array, last int32,
	pos int) Proposal {
	n, vocab := x.Dim(0), x.Dim(1)
	k := min(b.Candidates(), vocab)
	ids := sample.Likeliest(s, x, k) // (n, K)
	before := s.BroadcastTo(mlx.New(s, []int32{last}, 1, 1), 1, k)
	if n > 1 {
		before = s.Concat(0, before, s.Slice(ids, 0, 0, n-1))
	}
	edges := sampler.Tempered(s, b.Edges(s, hidden, before, ids)) // (n, K, K)
	likely := s.TakeAlong(x, ids, -1)
	noisy := s.Split(sampler.AddNoise(s, likely, ids, pos), n, 0) // (1, K) each
	steps := s.Split(edges, n, 0)
	at := make([]*mlx.Array, n+1)
	at[0] = mlx.New(s, []int32{0}, 1)
	for i := range n {
		scores := s.Add(noisy[i], s.Take(s.Reshape(steps[i], k, k), at[i], 0))
		at[i+1] = s.AsType(s.Argmax(scores, -1), mlx.Int32)
	}
	from, to := s.Concat(0, at[:n]...), s.Concat(0, at[1:]...)
	tokens := s.Reshape(s.TakeAlong(ids, s.Reshape(to, n, 1), -1), n)
	taken := s.TakeAlong(edges, s.BroadcastTo(s.Reshape(from, n, 1, 1), n, 1, k), 1)
	none := s.BroadcastTo(s.Scalar(math.Inf(-1), mlx.Float32), n, vocab)
	logQ := s.PutAlong(none, ids, s.Add(likely, s.Reshape(taken, n, k)), -1)
	return Proposal{N: n, Tokens: tokens, LogQ: logQ}
}
