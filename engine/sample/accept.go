package sample

import "tandem/engine/mlx"

// A Rule decides which proposed tokens are accepted. Both rules are exact: the output has the
// distribution of plain decoding.
type Rule string

const (
	// Coupled draws the target's own token at every position and accepts the proposals that equal
	// it. For one seed the output equals plain decoding, token for token. It is the default.
	Coupled Rule = "coupled"

	// Rejection accepts a proposal drawn from q with probability min(1, p/q). Where it rejects, it
	// draws from the rest of p, max(p-q, 0). (Leviathan, Kalman, Matias: Fast Inference from
	// Transformers via Speculative Decoding, 2023; Chen et al., 2023.) It accepts a little more.
	// Its output depends on the drafter.
	Rejection Rule = "rejection"
)

// A Verdict is the result for n proposed tokens. Both arrays are unevaluated.
type Verdict struct {
	Accepted *mlx.Array // () int32: how many were accepted
	Tokens   *mlx.Array // (n+1) int32: the first Accepted+1 follow the text
}

// Accept judges drafts (n) int32, proposed for positions pos on, by the target's processed
// distributions x (n+1, V). Row i of x follows the first i drafts. logQ (n, V) has the
// distributions that the drafts were drawn from, or is nil if they are certain. Both rules judge
// greedy requests alike.
func (m *Sampler) Accept(s *mlx.Scope, rule Rule, x, drafts, logQ *mlx.Array, pos int) Verdict {
	n := drafts.Dim(0)
	var accepted, tokens *mlx.Array // (n) bool; (n+1) int32, valid while all before are accepted
	if rule == Rejection && !m.params.Greedy() {
		accepted, tokens = m.reject(s, x, drafts, logQ, pos)
	} else {
		tokens = m.Choose(s, x, pos)
		accepted = s.Equal(s.Slice(tokens, 0, 0, n), drafts)
	}
	failed := s.Cumsum(s.Sub(s.Scalar(1, mlx.Int32), s.AsType(accepted, mlx.Int32)), 0)
	leading := s.Equal(failed, s.Scalar(0, mlx.Int32))
	return Verdict{
		Accepted: s.Sum(s.AsType(leading, mlx.Int32), 0, false),
		Tokens:   tokens,
	}
}

// reject applies the rejection rule to each position by itself.
func (m *Sampler) reject(s *mlx.Scope, x, drafts, logQ *mlx.Array,
	pos int) (accepted, tokens *mlx.Array) {
	n := drafts.Dim(0)
	at := s.Reshape(drafts, n, 1)
	all := s.Softmax(x, -1)
	p := s.Slice(all, 0, 0, n)
	var q *mlx.Array // (n, V)
	if logQ != nil {
		q = s.Softmax(logQ, -1)
	} else {
		one := s.BroadcastTo(s.Scalar(1, mlx.Float32), n, 1)
		q = s.PutAlong(s.Zeros(mlx.Float32, n, m.vocab), at, one, -1)
	}
	u := m.uniform(s, verdicts, pos, n, 1)
	accepted = s.Reshape(s.Less(s.Mul(u, s.TakeAlong(q, at, -1)), s.TakeAlong(p, at, -1)), n)

	zero := s.Scalar(0, mlx.Float32)
	rest := s.Sub(p, q)
	rest = s.Where(s.Less(zero, rest), rest, zero)
	// A rest without mass means that p and q differ by rounding only: take p.
	rest = s.Where(s.Less(zero, s.Sum(rest, -1, true)), rest, p)
	rest = s.Concat(0, rest, s.Slice(all, 0, n, n+1)) // (n+1, V), the last row the token after all drafts
	drawn := s.Argmax(s.Add(s.Log(rest), m.noise(s, residuals, pos, n+1)), -1)
	tokens = s.AsType(drawn, mlx.Int32)
	judged := s.Where(accepted, drafts, s.Slice(tokens, 0, 0, n))
	tokens = s.Concat(0, judged, s.Slice(tokens, 0, n, n+1))
	return accepted, tokens
}
