package bench

import (
	"math"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A rigged model has the test's own logits for the token at a position.
type rigged struct {
	watched
	row []float32
}

func (m *rigged) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := m.Model.Unembed(s, hidden)
	if m.end != m.position {
		return logits
	}
	return mlx.New(s, m.row, 1, len(m.row))
}

// Texts may diverge where rounding can decide, greedy or sampled, and nowhere else.
func TestDivergenceIsExcusedOnlyWhereRoundingDecides(t *testing.T) {
	th, b := openTiny(t, "qwen3")
	vocab := b.Model.Config().VocabSize
	const at, one, two, three = 4, 20, 30, 40
	for _, temperature := range []float64{0, 0.8} {
		seed := uint64(3)
		r := engine.Request{
			Prompt: TokenIDs(9, vocab), MaxTokens: new(8), IgnoreEOS: true, Seed: &seed,
			Sampling: sample.Params{Temperature: temperature, TopP: 0.99},
		}
		position := len(r.Prompt) + at
		row := func(second, third float64) []float32 {
			x := slices.Repeat([]float32{-1000}, vocab)
			x[one], x[two], x[three] = 1, float32(1+second), float32(1+third)
			return x
		}
		// tie is what the second token's logit needs for that token to be drawn.
		tie := 0.0
		if temperature > 0 {
			low, high := -5.0, 5.0
			for range 40 {
				tie = (low + high) / 2
				var drawn []int32
				if err := th.Do(t.Context(), func(s *mlx.Scope) (err error) {
					m := sample.New(s, r.Sampling, seed, vocab, r.Prompt)
					drawn, err = mlx.Read[int32](s,
						m.Draw(s, mlx.New(s, row(tie, -900), 1, vocab), nil, position))
					return err
				}); err != nil {
					t.Fatal(err)
				}
				if drawn[0] == two {
					high = tie
				} else {
					low = tie
				}
			}
			if math.Abs(tie) > 4 {
				t.Fatalf("no tie found: %v", tie)
			}
		}
		open := func(m lm.Model) *engine.Engine {
			return engine.New(th, m, b.Tokenizer, engine.Options{})
		}
		for _, test := range []struct {
			name          string
			second, third float64 // logits less the first's
			said          int32
			end           bool // the answer ends there
			want          bool
		}{
			{"nearly equal", tie - 5e-5, -900, two, false, true},
			{"too far apart", tie - 3e-4, -900, two, false, false},
			{"another token", tie - 5e-5, -900, three, false, false},
			{"an end", tie - 5e-5, -900, two, true, false},
		} {
			u := DivergenceJudge{th, &rigged{watched{Model: b.Model, position: position},
				row(test.second, test.third)}, open}
			e := open(u.Model)
			var plain []int32
			for tok, err := range e.Generate(t.Context(), r) {
				if err != nil {
					t.Fatal(err)
				}
				plain = append(plain, tok.ID)
			}
			e.Close()
			said := append(slices.Clone(plain[:at]), test.said, 7)
			if test.end {
				said = said[:at]
			}
			p, err := u.Judge(t.Context(), r, plain, said)
			if err != nil || p.Excused != test.want || p.at != at ||
				!test.end && (p.plain != one || p.logits[0] != 1) {
				t.Errorf("temperature %v, %s: %+v, %v", temperature, test.name, p, err)
			}
		}
	}
}

func TestLoweredLogitLiesJustBelowAllButEqualOnes(t *testing.T) {
	for _, test := range []struct {
		logit float32
		dtype mlx.Dtype
		want  float64 // apart
	}{
		{1, mlx.Float32, 1e-4}, {20, mlx.Float32, 1e-4}, {3000, mlx.Float32, 2.0 / 4096},
		{-20, mlx.Float32, 1e-4},
		{20, mlx.BFloat16, 0.25}, {1, mlx.BFloat16, 1.0 / 64}, {20, mlx.Float16, 1.0 / 32},
		{0, mlx.BFloat16, 2.0 / 256},
	} {
		got := float64(test.logit) - float64(lowered(test.logit, test.dtype))
		if got < test.want || got > test.want*1.5 {
			t.Errorf("%v %s: %v apart, want %v", test.logit, test.dtype, got, test.want)
		}
	}
}

func TestTextsDivergeAtTheirFirstDifference(t *testing.T) {
	for _, test := range []struct {
		a, b []int32
		want int
	}{
		{nil, nil, -1}, {[]int32{1, 2}, []int32{1, 2}, -1}, {[]int32{1, 2}, []int32{1, 3}, 1},
		{[]int32{1}, []int32{1, 2}, 1}, {[]int32{1, 2}, nil, 0},
	} {
		if got := firstDifference(test.a, test.b); got != test.want {
			t.Errorf("%v and %v diverge at %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
