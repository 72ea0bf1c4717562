package sample

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/mlx"
)

// newThread starts a CPU thread that ends with the test.
func newThread(t *testing.T) *mlx.Thread {
	t.Helper()
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { th.Close() })
	return th
}

// do runs fn on the thread and fails the test on an error.
func do(t *testing.T, th *mlx.Thread, fn func(*mlx.Scope) error) {
	t.Helper()
	if err := th.Do(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

// onThread runs fn on a new thread.
func onThread(t *testing.T, fn func(*mlx.Scope) error) {
	t.Helper()
	do(t, newThread(t), fn)
}

// reference processes logits in plain Go, in float64, straight from the
// definition.
func reference(p Params, logits []float32, prompt, output []int32) []float64 {
	x := make([]float64, len(logits))
	for i, v := range logits {
		x[i] = float64(v)
	}
	counts := map[int32]int{}
	for _, id := range output {
		counts[id]++
	}
	for id := range x {
		if r := p.RepetitionPenalty; r != 0 &&
			(slices.Contains(prompt, int32(id)) || counts[int32(id)] > 0) {
			if x[id] < 0 {
				x[id] *= r
			} else {
				x[id] /= r
			}
		}
		n := counts[int32(id)]
		x[id] -= p.FrequencyPenalty * float64(n)
		if n > 0 {
			x[id] -= p.PresencePenalty
		}
		x[id] += float64(p.LogitBias[int32(id)])
	}
	if p.Greedy() {
		return x
	}
	for i := range x {
		x[i] /= p.Temperature
	}
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[b], x[a]) })
	if p.TopK > 0 {
		for _, i := range order[min(p.TopK, len(x)):] {
			x[i] = math.Inf(-1)
		}
	}
	softmax := func() []float64 {
		sum, q := 0.0, make([]float64, len(x))
		for i := range x {
			q[i] = math.Exp(x[i] - x[order[0]])
			sum += q[i]
		}
		for i := range q {
			q[i] /= sum
		}
		return q
	}
	if p.TopP > 0 && p.TopP < 1 {
		q, before := softmax(), 0.0
		for _, i := range order {
			if before >= p.TopP {
				x[i] = math.Inf(-1)
			}
			before += q[i]
		}
	}
	if p.MinP > 0 {
		q := softmax()
		for i := range x {
			if q[i] < p.MinP*q[order[0]] {
				x[i] = math.Inf(-1)
			}
		}
	}
	return x
}

func TestProcessMatchesTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	prompt, output := []int32{3, 4, 4, 9}, []int32{4, 7, 7, 7}
	cases := []Params{
		{},
		{Temperature: 1},
		{Temperature: 0.7},
		{Temperature: 1, TopK: 1},
		{Temperature: 1, TopK: 5},
		{Temperature: 1, TopK: 100},
		{Temperature: 1, TopP: 0.5},
		{Temperature: 1.3, TopP: 0.9},
		{Temperature: 1, TopP: 1e-9},
		{Temperature: 1, TopP: 1e-50},
		{Temperature: 1e-5},
		{Temperature: 1e-40},
		{Temperature: 1, MinP: 0.2},
		{Temperature: 1, MinP: 1},
		{Temperature: 0.8, TopK: 10, TopP: 0.8, MinP: 0.05},
		{Temperature: 1, RepetitionPenalty: 1.3},
		{RepetitionPenalty: 1.3},
		{Temperature: 1, PresencePenalty: 0.5, FrequencyPenalty: 0.25},
		{Temperature: 1, PresencePenalty: -0.5},
		{Temperature: 1, LogitBias: map[int32]float32{0: 5, 9: -100}},
		{Temperature: 0.9, TopK: 12, TopP: 0.95, RepetitionPenalty: 1.1, FrequencyPenalty: 0.2, LogitBias: map[int32]float32{1: 1}},
	}
	const vocab = 32
	onThread(t, func(s *mlx.Scope) error {
		for _, p := range cases {
			for round := range 8 {
				logits := make([]float32, vocab)
				for i := range logits {
					logits[i] = float32(rng.NormFloat64() * 2)
					if round%2 == 1 {
						logits[i] = float32(math.Round(float64(logits[i]))) // many ties
					}
				}
				m := New(s, p, 1, vocab, prompt)
				for _, id := range output {
					m.Observe(s, mlx.New(s, []int32{id}, 1))
				}
				got, err := mlx.Read[float32](s,
					m.Process(s, mlx.New(s, logits, 1, vocab), nil, nil))
				if err != nil {
					return err
				}
				m.Free()
				want := reference(p, logits, prompt, output)
				for i := range want {
					g := float64(got[i])
					if math.IsInf(want[i], -1) != math.IsInf(g, -1) ||
						math.Abs(g-want[i]) > 1e-4*max(1, math.Abs(want[i])) {
						t.Errorf("%+v, round %d: id %d has %v, want %v", p, round, i, g, want[i])
						break
					}
				}
			}
		}
		return nil
	})
}

func TestGreedyTakesTheLowestOfEqual(t *testing.T) {
	onThread(t, func(s *mlx.Scope) error {
		m := New(s, Params{}, 1, 5, nil)
		got, err := mlx.Read[int32](s, m.Draw(s, mlx.New(s, []float32{0, 3, 1, 3, 3}, 1, 5), nil,
			0))
		if err == nil && got[0] != 1 {
			t.Errorf("took %d, want 1", got[0])
		}
		return err
	})
}

// TestDrawFollowsTheDistribution compares 20,000 draws at different positions
// with the processed distribution by a chi-square test at 0.001.
func TestDrawFollowsTheDistribution(t *testing.T) {
	logits := []float32{0, 1, 2, -1, 0.5, 3, -2, 1.5}
	for _, c := range []struct {
		p     Params
		limit float64 // chi-square quantile 0.999 for kept-1 degrees of freedom
	}{
		{Params{Temperature: 1}, 24.32},
		{Params{Temperature: 0.7}, 24.32},
		{Params{Temperature: 1, TopK: 4}, 16.27},
	} {
		onThread(t, func(s *mlx.Scope) error {
			x := reference(c.p, logits, nil, nil)
			sum := 0.0
			for _, v := range x {
				sum += math.Exp(v)
			}
			m := New(s, c.p, 42, len(logits), nil)
			row := s.Keep(mlx.New(s, logits, 1, len(logits)))
			defer row.Free()
			const draws = 20000
			counts := make([]int, len(logits))
			for lo := 0; lo < draws; lo += 100 {
				var batch []*mlx.Array
				for i := range 100 {
					batch = append(batch, m.Draw(s, row, nil, lo+i))
				}
				all := s.Concat(0, batch...)
				if err := s.Eval(all); err != nil {
					return err
				}
				ids, err := mlx.Read[int32](s, all)
				if err != nil {
					return err
				}
				for _, id := range ids {
					counts[id]++
				}
			}
			chi := 0.0
			for i, v := range x {
				want := draws * math.Exp(v) / sum
				if want == 0 {
					if counts[i] > 0 {
						t.Errorf("%+v drew %d, which has no mass", c.p, i)
					}
					continue
				}
				chi += (float64(counts[i]) - want) * (float64(counts[i]) - want) / want
			}
			if chi > c.limit {
				t.Errorf("%+v: chi-square %.1f above %.1f, counts %v", c.p, chi, c.limit, counts)
			}
			return nil
		})
	}
}

func TestSettingsOutOfRangeAreRefused(t *testing.T) {
	for _, p := range []Params{
		{Temperature: -1}, {Temperature: math.NaN()}, {Temperature: math.Inf(1)}, {TopK: -1}, {TopP: 1.5}, {TopP: -0.1},
		{MinP: 2}, {RepetitionPenalty: -1}, {RepetitionPenalty: 1e-45}, {RepetitionPenalty: math.Inf(1)}, {PresencePenalty: math.Inf(1)}, {FrequencyPenalty: math.NaN()},
		{LogitBias: map[int32]float32{10: 0}}, {LogitBias: map[int32]float32{-1: 0}},
		{LogitBias: map[int32]float32{1: float32(math.NaN())}},
	} {
		if p.Check(10) == nil {
			t.Errorf("%+v passed", p)
		}
	}
	if err := (Params{Temperature: 1, TopK: 5, TopP: 1, MinP: 0.1,
		LogitBias: map[int32]float32{9: -100}}).Check(10); err != nil {
		t.Error(err)
	}
}
