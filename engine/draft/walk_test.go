package draft_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A walker is a follower whose rows say random logits, and whose edges are a random table.
type walker struct {
	follower
	ids    []int32    // it speaks of, nil for all
	cut    *mlx.Array // the same
	k      int
	logits []float32 // (n, V)
	edges  []float32 // (V, V), by predecessor
}

func (b *walker) Candidates() int { return b.k }

func (b *walker) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	n := hidden.Dim(0)
	logits := mlx.New(s, b.logits[:n*b.vocab], n, b.vocab)
	if b.cut != nil {
		return s.Take(logits, b.cut, 1)
	}
	return logits
}

func (b *walker) Vocabulary() *mlx.Array { return b.cut }

func (b *walker) Edges(s *mlx.Scope, _, predecessors, candidates *mlx.Array) *mlx.Array {
	n, p, k := candidates.Dim(0), predecessors.Dim(1), candidates.Dim(1)
	pair := s.Add(s.Mul(s.Reshape(predecessors, n, p, 1), s.Scalar(float64(b.vocab), mlx.Int32)),
		s.Reshape(candidates, n, 1, k))
	return s.Take(mlx.New(s, b.edges, b.vocab*b.vocab), pair, 0)
}

// best returns the tokens of the walk from last, computed without arrays: at each row the candidate
// whose logit, bias, edge and noise sum up highest. It also returns q over all tokens of each row.
func (b *walker) best(last int32, n int, bias map[int32]float32, temperature float64,
	noise [][]float32) (path []int32, q [][]float64) {
	for i := range n {
		row := make([]float64, b.vocab) // processed
		ids := make([]int, b.vocab)
		for id := range row {
			ids[id] = id
			row[id] = float64(b.logits[i*b.vocab+id]) + float64(bias[int32(id)])
		}
		for id := range row {
			if id == int(b.MaskToken()) || b.ids != nil && !slices.Contains(b.ids, int32(id)) {
				row[id] = math.Inf(-1)
			}
		}
		slices.SortFunc(ids, func(x, y int) int {
			if row[x] > row[y] {
				return -1
			}
			return 1
		})
		probs := make([]float64, b.vocab)
		best, most, sum := 0, math.Inf(-1), 0.0
		for _, id := range ids[:b.k] {
			score := row[id] + float64(b.edges[int(last)*b.vocab+id])
			if temperature > 0 {
				score /= temperature
			}
			probs[id] = math.Exp(score)
			sum += probs[id]
			if noise != nil {
				score += float64(noise[i][id])
			}
			if score > most {
				best, most = id, score
			}
		}
		for id := range probs {
			probs[id] /= sum
		}
		last = int32(best)
		path, q = append(path, last), append(q, probs)
	}
	return path, q
}

// At each row the walk takes the candidate that is best by the token before, the request's
// processing and its noise. Plain loops over the same numbers find the same candidates.
func TestWalkTakesTheBestCandidateAtEachRow(t *testing.T) {
	th := enginetest.NewThread(t)
	const vocab, n, last = 40, 7, 11
	rng := rand.New(rand.NewPCG(3, 4))
	random := func(count int, by float64) []float32 {
		list := make([]float32, count)
		for i := range list {
			list[i] = float32(by * rng.NormFloat64())
		}
		return list
	}
	unlike := 0
	for _, temperature := range []float64{0, 0.8, 1} {
		for _, bias := range []map[int32]float32{nil, {3: 2, 5: -100}} {
			for seed := range uint64(10) {
				b := &walker{follower: follower{vocab: vocab, size: n + 1}, k: 6,
					logits: random(n*vocab, 2), edges: random(vocab*vocab, 2)}
				for id := int32(0); seed%2 == 1 && id < vocab; id++ { // two in three
					if id%3 > 0 || id == b.MaskToken() {
						b.ids = append(b.ids, id)
					}
				}
				params := sample.Params{Temperature: temperature, LogitBias: bias, PresencePenalty: 0.5}
				err := th.Do(t.Context(), func(s *mlx.Scope) error {
					if b.ids != nil {
						b.cut = mlx.New(s, b.ids, len(b.ids))
					}
					d := draft.NewDFlash(s, b, vocab)
					defer d.Free()
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
					want, q := b.best(last, n, bias, temperature, noise)
					if !slices.Equal(got, want) {
						t.Errorf("temperature %g, bias %v, seed %d: %v, want %v", temperature, bias,
							seed, got, want)
					}
					probs, err := enginetest.ReadRows(s, s.Softmax(p.LogQ, -1))
					for i := range probs {
						for id, v := range probs[i] {
							if !(math.Abs(float64(v)-q[i][id]) < 1e-5) {
								return fmt.Errorf("temperature %g: q of token %d in row %d is %g, want %g",
									temperature, id, i, v, q[i][id])
							}
						}
					}
					b.k = 0 // its rows alone
					alone, err2 := mlx.Read[int32](s, one.Propose(s, []int32{last}, n).Tokens)
					if err2 == nil && !slices.Equal(alone, got) {
						unlike++
					}
					b.k = vocab
					clear(b.edges)
					if want, _ := b.best(last, n, bias, temperature, noise); err2 == nil &&
						!slices.Equal(alone, want) {
						t.Errorf("by its rows alone: %v, want %v", alone, want)
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
		t.Errorf("in %d of 60 walks the edges changed a token: this test shows little", unlike)
	}
}

// proposeAfter lets a draft propose n tokens after last, and reads them.
func proposeAfter(s *mlx.Scope, d draft.Draft, last int32, n int) (p draft.Proposal, tokens []int32,
	err error) {
	p = d.Propose(s, []int32{last}, n)
	tokens, err = mlx.Read[int32](s, p.Tokens)
	return p, tokens, err
}

// noiseOf returns the noise (n, vocab) with which sampler draws the tokens from position 1 on, nil at
// temperature 0.
func noiseOf(s *mlx.Scope, sampler *sample.Sampler, n, vocab int,
	temperature float64) ([][]float32, error) {
	if temperature == 0 {
		return nil, nil
	}
	ids := s.BroadcastTo(s.Arange(0, vocab, mlx.Int32), n, vocab)
	return enginetest.ReadRows(s, s.Contiguous(sampler.AddNoise(s,
		s.Zeros(mlx.Float32, n, vocab), ids, 1)))
}
