package sample

import "tandem/engine/mlx"

// A Rule decides which proposed tokens stand. Both are exact: what is emitted
// has the distribution of plain decoding.
type Rule string

const (
	// Coupled draws the target's own token at every position and accepts
	// proposals that are equal to it. For one seed the output is that of
	// plain decoding, token for token. The default.
	Coupled Rule = "coupled"

	// Rejection accepts a proposal drawn from q with probability min(1, p/q)
	// and draws from the rest of p, max(p-q, 0), where it does not. (Leviathan,
	// Kalman, Matias: Fast Inference from Transformers via Speculative
	// Decoding, 2023; Chen et al., 2023.) It accepts a little more; its output
	// depends on the drafter.
	Rejection Rule = "rejection"
)

// A Verdict is what became of n proposed tokens. Both arrays are unevaluated.
type Verdict struct {
	Accepted *mlx.Array // () int32: how many of them stand
	Tokens   *mlx.Array // (n+1) int32: the first Accepted+1 are what follows
}

// Accept judges drafts (n) int32, which were proposed for positions pos on, by
// the target's processed distributions x (n+1, V): row i stands behind the
// first i drafts. logQ (n, V) are those the drafts were drawn from, nil if they
// are certain guesses. Greedy requests are judged alike by both rules.
func (m *Sampler) Accept(s *mlx.Scope, rule Rule, x, drafts, logQ *mlx.Array, pos int) Verdict {
	n := drafts.Dim(0)
	var stands, tokens *mlx.Array // (n) bool; (n+1) int32, right where all before stand
	if rule == Rejection && !m.params.Greedy() {
		stands, tokens = m.reject(s, x, drafts, logQ, pos)
	} else {
		tokens = m.Choose(s, x, pos)
		stands = s.Equal(s.Slice(tokens, 0, 0, n), drafts)
	}
	failed := s.Cumsum(s.Sub(s.Scalar(1, mlx.Int32), s.AsType(stands, mlx.Int32)), 0)
	standing := s.Equal(failed, s.Scalar(0, mlx.Int32))
	return Verdict{
		Accepted: s.Sum(s.AsType(standing, mlx.Int32), 0, false),
		Tokens:   tokens,
	}
}

// reject applies the rejection rule to each position by itself.
func (m *Sampler) reject(s *mlx.Scope, x, drafts, logQ *mlx.Array, pos int) (stands, tokens *mlx.Array) {
	n := drafts.Dim(0)
	at := s.Reshape(drafts, n, 1)
	all := s.Softmax(x, -1)
	p := s.Slice(all, 0, 0, n)
	var q *mlx.Array // (n, V)
	if logQ != nil {
		q = s.Softmax(logQ, -1)
	} else {
		q = s.PutAlong(s.Zeros(mlx.Float32, n, m.vocab), at, s.BroadcastTo(s.Scalar(1, mlx.Float32), n, 1), -1)
	}
	u := m.uniform(s, verdicts, pos, n, 1)
	stands = s.Reshape(s.Less(s.Mul(u, s.TakeAlong(q, at, -1)), s.TakeAlong(p, at, -1)), n)

	zero := s.Scalar(0, mlx.Float32)
	rest := s.Sub(p, q)
	rest = s.Where(s.Less(zero, rest), rest, zero)
	// Without mass p and q are equal but for rounding: p it is.
	rest = s.Where(s.Less(zero, s.Sum(rest, -1, true)), rest, p)
	rest = s.Concat(0, rest, s.Slice(all, 0, n, n+1)) // (n+1, V), the last row a bonus
	drawn := s.Argmax(s.Add(s.Log(rest), m.noise(s, residuals, pos, n+1)), -1)
	tokens = s.AsType(drawn, mlx.Int32)
	tokens = s.Concat(0, s.Where(stands, drafts, s.Slice(tokens, 0, 0, n)), s.Slice(tokens, 0, n, n+1))
	return stands, tokens
}
