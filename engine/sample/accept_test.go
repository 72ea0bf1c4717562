package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/mlx"
)

func randomRows(rng *rand.Rand, n, vocab int) []float32 {
	rows := make([]float32, n*vocab)
	for i := range rows {
		rows[i] = float32(rng.NormFloat64() * 2)
	}
	return rows
}

// TestRowsOfABlockAreProcessedLikeSingleRows compares the rows of a block with one row at a time.
func TestRowsOfABlockAreProcessedLikeSingleRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const vocab, n = 24, 5
	prompt, drafts := []int32{3, 4}, []int32{4, 7, 7, 23}
	for _, p := range []Params{
		{},
		{Temperature: 0.8, TopK: 6, TopP: 0.9, MinP: 0.01},
		{RepetitionPenalty: 1.3},
		{Temperature: 1, TopP: 0.7, RepetitionPenalty: 1.2, PresencePenalty: 0.4, FrequencyPenalty: 0.3, LogitBias: map[int32]float32{5: 2}},
	} {
		onThread(t, func(s *mlx.Scope) error {
			logits := randomRows(rng, n, vocab)
			block := New(s, p, 9, vocab, prompt)
			defer block.Free()
			ids := mlx.New(s, drafts, len(drafts))
			x := block.Process(s, mlx.New(s, logits, n, vocab), ids, nil)
			got, err := mlx.Read[float32](s, x)
			if err != nil {
				return err
			}
			chosen, err := mlx.Read[int32](s, block.Choose(s, x, 100))
			if err != nil {
				return err
			}
			one := New(s, p, 9, vocab, prompt)
			defer one.Free()
			for i := range n {
				row := mlx.New(s, logits[i*vocab:(i+1)*vocab], 1, vocab)
				want, err := mlx.Read[float32](s, one.Process(s, row, nil, nil))
				if err != nil {
					return err
				}
				if !slices.Equal(got[i*vocab:(i+1)*vocab], want) {
					t.Errorf("%+v: row %d is %v, want %v", p, i, got[i*vocab:(i+1)*vocab], want)
				}
				id, err := mlx.Read[int32](s, one.Draw(s, row, nil, 100+i))
				if err != nil {
					return err
				}
				if id[0] != chosen[i] {
					t.Errorf("%+v: row %d drew %d, want %d", p, i, chosen[i], id[0])
				}
				if i < len(drafts) {
					one.Observe(s, mlx.New(s, drafts[i:i+1], 1))
				}
			}
			return nil
		})
	}
}

// TestAcceptJudgesCertainDrafts checks verdicts whose outcome is certain.
func TestAcceptJudgesCertainDrafts(t *testing.T) {
	const vocab = 4
	// Row i of the target draws token i almost surely.
	sharp := make([]float32, 4*vocab)
	for i := range 4 {
		sharp[i*vocab+i] = 50
	}
	for _, rule := range []Rule{Coupled, Rejection} {
		for _, p := range []Params{{}, {Temperature: 1}} {
			for _, c := range []struct {
				drafts []int32
				want   []int32
			}{
				{[]int32{0, 1, 2}, []int32{0, 1, 2, 3}},
				{[]int32{0, 1, 0}, []int32{0, 1, 2}},
				{[]int32{0, 0, 2}, []int32{0, 1}},
				{[]int32{1, 1, 2}, []int32{0}},
			} {
				onThread(t, func(s *mlx.Scope) error {
					m := New(s, p, 5, vocab, nil)
					v := m.Accept(s, rule, mlx.New(s, sharp, 4, vocab), mlx.New(s, c.drafts, 3),
						nil, 10)
					accepted, err := mlx.Read[int32](s, v.Accepted)
					if err != nil {
						return err
					}
					tokens, err := mlx.Read[int32](s, v.Tokens)
					if err != nil {
						return err
					}
					if got := tokens[:accepted[0]+1]; !slices.Equal(got, c.want) {
						t.Errorf("%s, temperature %v, drafts %v: %v follows, want %v",
							rule, p.Temperature, c.drafts, got, c.want)
					}
					return nil
				})
			}
		}
	}
}

// TestRejectionFollowsTheDistribution draws one draft from q and judges it, at 20,000 positions.
// The resulting token has the distribution p for every q.
func TestRejectionFollowsTheDistribution(t *testing.T) {
	const vocab, positions, at = 8, 20000, 1000 // positions judged at a time, each by itself
	p := []float32{0, 1, 2, -1, 0.5, 3, -2, 1.5}
	for _, c := range []struct {
		name string
		q    []float32 // nil = a certain guess
	}{
		{"another distribution", []float32{2, 0, 1, 1, 1, 0, 3, -1}},
		{"the same distribution", p},
		{"a certain guess", nil},
	} {
		onThread(t, func(s *mlx.Scope) error {
			m := New(s, Params{Temperature: 1}, 77, vocab, nil)
			counts := make([]int, vocab)
			for pos := 0; pos < positions; pos += at {
				drafts, logQ := mlx.New(s, slices.Repeat([]int32{5}, at), at), (*mlx.Array)(nil)
				if c.q != nil {
					logQ = mlx.New(s, slices.Repeat(c.q, at), at, vocab)
					drafts = m.Choose(s, logQ, pos)
				}
				rows := mlx.New(s, slices.Repeat(p, at+1), at+1, vocab)
				_, tokens := m.reject(s, rows, drafts, logQ, pos)
				ids, err := mlx.Read[int32](s, tokens)
				if err != nil {
					return err
				}
				for _, id := range ids[:at] { // the last token comes after all drafts
					counts[id]++
				}
				if err := s.Eval(); err != nil {
					return err
				}
			}
			sum, chi := 0.0, 0.0
			for _, v := range p {
				sum += math.Exp(float64(v))
			}
			for i, v := range p {
				want := positions * math.Exp(float64(v)) / sum
				chi += (float64(counts[i]) - want) * (float64(counts[i]) - want) / want
			}
			if chi > 24.32 { // 0.999 quantile, 7 degrees of freedom
				t.Errorf("%s: chi-square %.1f, counts %v", c.name, chi, counts)
			}
			return nil
		})
	}
}

// The test holds the noise, and uses it beyond its hold and in other scopes. The tokens equal those
// without a hold.
func TestHoldKeepsTheTokens(t *testing.T) {
	th := newThread(t)
	rng := rand.New(rand.NewPCG(5, 6))
	const vocab, n = 40, 4
	logits := randomRows(rng, n, vocab)
	m := New(nil, Params{Temperature: 1}, 11, vocab, nil)
	choose := func(s *mlx.Scope, m *Sampler, pos, n int) []int32 {
		got, err := mlx.Read[int32](s, m.Choose(s, mlx.New(s, logits[:n*vocab], n, vocab), pos))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	compare := func(s *mlx.Scope, pos, n int) {
		got, want := choose(s, m, pos, n), choose(s, New(s, m.params, m.seed, vocab, nil), pos, n)
		if !slices.Equal(got, want) {
			t.Errorf("%d positions from %d on: %v, want %v", n, pos, got, want)
		}
	}
	check := func(s *mlx.Scope) {
		for _, c := range []struct{ pos, n int }{{7, 4}, {7, 1}, {8, 3}, {10, 1}, {10, 2}, {6, 2}} {
			compare(s, c.pos, c.n)
		}
	}
	do(t, th, func(s *mlx.Scope) error {
		held := m.Hold(s, 7, n)
		check(s)
		if err := s.AsyncEval(held...); err != nil {
			return err
		}
		check(s)
		return s.Err()
	})
	do(t, th, func(s *mlx.Scope) error { check(s); return s.Err() })
	for _, next := range []struct{ pos, n int }{{7, n}, {9, 1}, {9, n}, {10, 2}, {6, n}} {
		do(t, th, func(s *mlx.Scope) error { m.Hold(s, next.pos, next.n); check(s); return s.Err() })
	}
	do(t, th, func(s *mlx.Scope) error {
		m.Hold(s, 7, n)
		m.Release(s)
		if m.Held() != nil {
			t.Error("released noise is held")
		}
		m.Hold(s, 7, n)
		compare(s, 20, 3)
		if m.Held() != nil {
			t.Error("noise of positions that were passed is held")
		}
		if held := New(s, Params{}, 11, vocab, nil).Hold(s, 7, n); held != nil {
			t.Error("greedy requests hold noise")
		}
		return nil
	})
}

// Rows of noise that a round left are not made again. The test replaces them by zeros.
func TestHoldTakesTheRowsThatAreLeft(t *testing.T) {
	th := newThread(t)
	const vocab = 40
	for _, test := range []struct{ pos, n, left, rows int }{
		{7, 4, 4, 4}, {9, 1, 2, 2}, {9, 4, 2, 4}, {10, 1, 1, 1}, {11, 3, 0, 3}, {6, 3, 0, 3},
	} {
		m := New(nil, Params{Temperature: 1}, 11, vocab, nil)
		do(t, th, func(s *mlx.Scope) error { m.Hold(s, 7, 4); return s.Err() })
		m.held.rows.Free()
		do(t, th, func(s *mlx.Scope) error {
			m.held.rows = s.Keep(s.Zeros(mlx.Float32, 4, vocab))
			rows := m.Hold(s, test.pos, test.n)[0]
			zeros := s.Sum(s.AsType(s.Equal(rows, s.Scalar(0, mlx.Float32)), mlx.Int32), 1, false)
			got, err := mlx.Read[int32](s, zeros)
			want := make([]int32, test.rows)
			for i := range test.left {
				want[i] = vocab
			}
			if err == nil && !slices.Equal(got, want) {
				t.Errorf("%d rows from %d on have %d zeros each, want %d", test.n, test.pos, got, want)
			}
			m.Free()
			return err
		})
	}
}

// A temperature and penalties of any size leave numbers that a token can be drawn from.
func TestExtremeParamsLeaveADistribution(t *testing.T) {
	th := newThread(t)
	const vocab, only = 40, 23
	logits := randomRows(rand.New(rand.NewPCG(7, 8)), 1, vocab)
	allowed := make([]bool, vocab)
	allowed[only] = true
	for _, p := range []Params{
		{Temperature: 1e46}, {Temperature: math.MaxFloat64, TopP: 0.5, MinP: 0.1},
		{Temperature: 0.5, TopP: 0.9, PresencePenalty: -math.MaxFloat32},
		{Temperature: 1e-5, TopK: 3, FrequencyPenalty: math.MaxFloat32, PresencePenalty: math.MaxFloat32},
		{Temperature: 0.5, LogitBias: map[int32]float32{3: math.MaxFloat32, only: -math.MaxFloat32}},
	} {
		if err := p.Check(vocab); err != nil {
			t.Fatal(err)
		}
		do(t, th, func(s *mlx.Scope) error {
			m := New(s, p, 5, vocab, []int32{1, 2})
			defer m.Free()
			m.Observe(s, mlx.New(s, []int32{1, 1, only}, 3))
			got, err := mlx.Read[int32](s, m.Draw(s, mlx.New(s, logits, 1, vocab),
				mlx.New(s, allowed, 1, vocab), 3))
			if err == nil && got[0] != only {
				t.Errorf("%+v draws token %d, which is not allowed", p, got[0])
			}
			return err
		})
	}
}
