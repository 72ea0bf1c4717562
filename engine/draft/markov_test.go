package draft_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A corrected block says random logits, which a random table corrects.
type corrected struct {
	follower
	logits      []float32 // (n, V)
	corrections []float32 // (V, V), by the token before
	trust       []float32 // (V), by the token before; nil = it does not say
}

func (b *corrected) Markov() bool { return b.corrections != nil }

func (b *corrected) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	return mlx.New(s, b.logits[:hidden.Dim(0)*b.vocab], hidden.Dim(0), b.vocab)
}

func (b *corrected) Correction(s *mlx.Scope, previous *mlx.Array) *mlx.Array {
	return s.Take(mlx.New(s, b.corrections, b.vocab, b.vocab), previous, 0)
}

func (b *corrected) Trust(s *mlx.Scope, _, previous *mlx.Array) *mlx.Array {
	if b.trust == nil {
		return nil
	}
	return s.Take(mlx.New(s, b.trust, b.vocab), previous, 0)
}

// best returns the tokens of the chain from last, computed without arrays. scores (n, V) are those
// that they were taken from, without noise. share is the share of the tokens that the block trusts.
func (b *corrected) best(last int32, n int, bias map[int32]float32, temperature float64,
	noise [][]float32) (path []int32, scores [][]float64, share float64) {
	reach := 1.0
	for i := range n {
		if b.trust != nil {
			reach *= float64(b.trust[last])
			share += reach / float64(n)
		}
		row := make([]float64, b.vocab)
		best, most := 0, math.Inf(-1)
		for id := range row {
			row[id] = float64(b.logits[i*b.vocab+id]+b.corrections[int(last)*b.vocab+id]) +
				float64(bias[int32(id)])
			if temperature > 0 {
				row[id] /= temperature
			}
			if id == int(b.MaskToken()) {
				row[id] = math.Inf(-1)
			}
			score := row[id]
			if noise != nil {
				score += float64(noise[i][id])
			}
			if score > most {
				best, most = id, score
			}
		}
		last = int32(best)
		path, scores = append(path, last), append(scores, row)
	}
	return path, scores, share
}

// At each row the chain takes the token that is best by the one before, the request's processing
// and its noise. Plain loops over the same numbers find the same tokens. It says the distributions
// and its confidence.
func TestChainTakesTheBestTokenAtEachRow(t *testing.T) {
	th := enginetest.NewThread(t)
	const vocab, n, last = 40, 7, 11
	rng := rand.New(rand.NewPCG(5, 6))
	random := func(count int) []float32 {
		list := make([]float32, count)
		for i := range list {
			list[i] = float32(2 * rng.NormFloat64())
		}
		return list
	}
	unlike := 0
	for _, temperature := range []float64{0, 0.8, 1} {
		for _, bias := range []map[int32]float32{nil, {3: 2, 5: -100}} {
			for seed := range uint64(10) {
				b := &corrected{follower: follower{vocab: vocab, size: n + 1},
					logits: random(n * vocab), corrections: random(vocab * vocab)}
				for i := 0; seed%2 == 1 && i < vocab; i++ {
					b.trust = append(b.trust, rng.Float32())
				}
				params := sample.Params{Temperature: temperature, LogitBias: bias}
				err := th.Do(t.Context(), func(s *mlx.Scope) error {
					d := draft.NewDFlash(s, b, vocab)
					defer d.Free()
					if d.Name() != "dspark" {
						t.Errorf("its name is %s", d.Name())
					}
					sampler := sample.New(s, params, seed, vocab, nil)
					defer sampler.Free()
					one, err := d.Open(s, draft.Options{Sampler: sampler})
					if err != nil {
						return err
					}
					defer one.Free(s)
					p, got, err := proposeAfter(s, one, last, n)
					if err != nil {
						return err
					}
					noise, err := noiseOf(s, sampler, n, vocab, temperature)
					if err != nil {
						return err
					}
					want, scores, share := b.best(last, n, bias, temperature, noise)
					if !slices.Equal(got, want) {
						t.Errorf("temperature %g, bias %v, seed %d: %v, want %v", temperature, bias,
							seed, got, want)
					}
					logQ, err := enginetest.ReadRows(s, p.LogQ)
					for i := range logQ {
						for id, v := range logQ[i] {
							if d := float64(v) - scores[i][id]; !(math.Abs(d) < 1e-4) &&
								float64(v) != scores[i][id] {
								t.Errorf("temperature %g: token %d of row %d has %g, want %g",
									temperature, id, i, v, scores[i][id])
								return err
							}
						}
					}
					if (p.Confidence == nil) != (b.trust == nil) {
						t.Error("a confidence is there without trust, or the other way round")
					} else if p.Confidence != nil {
						says, err := mlx.Read[float32](s, p.Confidence)
						if err != nil || math.Abs(float64(says[0])-share) > 1e-5 {
							t.Errorf("it trusts in a share of %g, want %g (%v)", says, share, err)
						}
					}
					b.corrections = nil // its rows alone
					alone, err2 := mlx.Read[int32](s, one.Propose(s, []int32{last}, n).Tokens)
					if !slices.Equal(alone, got) {
						unlike++
					}
					return errors.Join(err, err2)
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if unlike < 55 {
		t.Errorf("in %d of 60 chains the corrections changed a token: this test shows little", unlike)
	}
}
