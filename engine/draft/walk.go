package draft

import (
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A PathBlock is a Block whose rows depend on one another: a row's logits are corrected by the
// token before it. Its proposal is a path from row to row.
type PathBlock interface {
	Block

	// Candidates is among how many of a row's likeliest tokens the walk chooses. 0 means that the
	// rows are independent.
	Candidates() int

	// Edges returns what is added to the logits of candidates (n, K) that come after predecessors
	// (n, P), both int32 ids: (n, P, K) in float32. hidden (n, H) is what Forward returned.
	Edges(s *mlx.Scope, hidden, predecessors, candidates *mlx.Array) *mlx.Array
}

// walk proposes along a path from last through the rows of x (n, C), their processed distributions.
// At each row it draws among the likeliest candidates. It draws by x, by the edges from the token
// chosen before, and with the request's own noise at that position. Edges between all candidates of
// adjacent rows are computed together, so a step is three small operations, and nothing is read.
func (p *proposer) walk(s *mlx.Scope, b PathBlock, hidden, x *mlx.Array, last int32) Proposal {
	n, k := x.Dim(0), min(b.Candidates(), x.Dim(1))
	at := sample.Likeliest(s, x, k) // (n, K), of C
	ids := p.tokens(s, at)
	before := s.BroadcastTo(mlx.New(s, []int32{last}, 1, 1), 1, k)
	if n > 1 {
		before = s.Concat(0, before, s.Slice(ids, 0, 0, n-1))
	}
	edges := p.sampler.Tempered(s, b.Edges(s, hidden, before, ids)) // (n, K, K)
	likely := s.TakeAlong(x, at, -1)
	noisy := s.Split(p.sampler.AddNoise(s, likely, at, p.pos), n, 0) // (1, K) each
	steps := s.Split(edges, n, 0)
	path := make([]*mlx.Array, n+1) // which of K
	path[0] = mlx.New(s, []int32{0}, 1)
	for i := range n {
		scores := s.Add(noisy[i], s.Take(s.Reshape(steps[i], k, k), path[i], 0))
		path[i+1] = s.AsType(s.Argmax(scores, -1), mlx.Int32)
	}
	from, to := s.Concat(0, path[:n]...), s.Concat(0, path[1:]...)
	tokens := s.Reshape(s.TakeAlong(ids, s.Reshape(to, n, 1), -1), n)
	taken := s.TakeAlong(edges, s.BroadcastTo(s.Reshape(from, n, 1, 1), n, 1, k), 1)
	scores := s.Add(likely, s.Reshape(taken, n, k))
	return Proposal{N: n, Tokens: tokens, LogQ: p.spread(s, ids, scores), Confidence: Confidence(s, scores)}
}
