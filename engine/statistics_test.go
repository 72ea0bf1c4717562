package engine

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// samples is the number of episodes drawn for each rule and setting.
const samples = 10_000

// opening is the prompt, an episode too.
var opening = []int32{3, 1, 4}

// A statistic is the episodic model on a thread of its own, with a drafter
// that is nearly right.
type statistic struct {
	t       *testing.T
	th      *mlx.Thread
	model   *episodic
	guesser *guesser
	blocks  map[string]*draft.DFlash // of blockGuessers, by kind
	drafter draft.Drafter            // who drafts: one of these
	logits  [][]float32              // after each prefix
}

func newStatistic(t *testing.T) *statistic {
	t.Helper()
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	x := &statistic{t: t, th: th}
	x.do(func(s *mlx.Scope) error { x.model = newEpisodic(s); return nil })
	for _, prefix := range prefixes() {
		x.do(func(s *mlx.Scope) error {
			text := slices.Concat(opening, prefix)
			caches := x.model.NewCaches(cache.Options{Chunk: 32})
			out := x.model.Forward(s, lm.Batch{{Tokens: mlx.New(s, text, len(text)), N: len(text),
				Caches: caches}}, nil)
			row, err := mlx.Read[float32](s, x.model.Unembed(s,
				s.Slice(out.Hidden, 0, len(text)-1, len(text))))
			x.logits = append(x.logits, row)
			for _, c := range caches {
				c.Free(s)
			}
			return err
		})
	}
	x.blocks = map[string]*draft.DFlash{}
	var shared *blockGuesser
	x.do(func(s *mlx.Scope) error {
		x.guesser = newGuesser(s, x.logits)
		x.drafter = x.guesser
		blocks := newBlockGuessers(s, x.guesser)
		for kind, b := range blocks {
			x.blocks[kind] = draft.NewDFlash(s, b, words)
		}
		shared = blocks["cut walk"]
		return nil
	})
	t.Cleanup(func() {
		th.Do(context.Background(), func(*mlx.Scope) error {
			x.model.Free()
			x.guesser.table.Free()
			shared.edges.Free()
			shared.cut.Free()
			for _, d := range x.blocks {
				d.Free()
			}
			return nil
		})
		th.Close()
	})
	return x
}

func (x *statistic) do(fn func(*mlx.Scope) error) {
	x.t.Helper()
	if err := x.th.Do(context.Background(), fn); err != nil {
		x.t.Fatal(err)
	}
}

// joint returns the probability that plain decoding gives each of words^3 episodes after the
// opening. Episode abc is at (a*words+b)*words+c.
func (x *statistic) joint(p sample.Params) []float64 {
	x.t.Helper()
	var next [][]float64 // after each prefix
	for i, prefix := range prefixes() {
		x.do(func(s *mlx.Scope) error {
			m := sample.New(s, p, 0, words, opening)
			defer m.Free()
			for _, id := range prefix {
				m.Observe(s, mlx.New(s, []int32{id}, 1))
			}
			row, err := mlx.Read[float32](s, m.Process(s, mlx.New(s, x.logits[i], 1, words), nil,
				nil))
			sum, weights := 0.0, make([]float64, words)
			for j, v := range row {
				weights[j] = math.Exp(float64(v))
				sum += weights[j]
			}
			for j := range weights {
				weights[j] /= sum
			}
			next = append(next, weights)
			return err
		})
	}
	joint := make([]float64, words*words*words)
	for i := range joint {
		a, b, c := i/words/words, i/words%words, i%words
		joint[i] = next[0][a] * next[1+a][b] * next[1+words+a*words+b][c]
	}
	return joint
}

// draw decodes n episodes. Every request has each episodes. counts is by episode, as in joint.
// accepted counts the rounds by their number of accepted drafts.
func (x *statistic) draw(r Request, n, each int) (counts, accepted []int) {
	x.t.Helper()
	e := New(x.th, x.model, enginetest.ByteTokenizer(x.t),
		Options{Chunk: 32, Drafters: []draft.Drafter{x.drafter}})
	defer e.Close()
	counts, accepted = make([]int, words*words*words), make([]int, *r.Speculation.Depth+1)
	r.Prompt, r.IgnoreEOS = opening, true
	r.MaxTokens = new(each * episode)
	if each == 1 {
		r.MaxTokens = new(episode + 1) // room for two drafts after the token that the prompt gives
	}
	var mu sync.Mutex
	take := func(ids []int32, s Stats) {
		mu.Lock()
		defer mu.Unlock()
		for w := range slices.Chunk(ids[:each*episode], episode) {
			counts[(int(w[0])*words+int(w[1]))*words+int(w[2])]++
		}
		at := 0
		for _, drafted := range s.Depths {
			if drafted > 0 {
				at++
			}
		}
		for k, more := range append(s.AcceptedAt, 0) {
			accepted[k] += at - more
			at = more
		}
	}
	// Several requests run at a time, so the engine never falls idle between two.
	const workers = 4
	var wg sync.WaitGroup
	for first := range workers {
		wg.Go(func() {
			for i := first * each; i < n; i += workers * each {
				var ids []int32
				var stats Stats
				r := r
				r.Seed, r.Done = new(uint64(i)), func(s Stats) { stats = s }
				for tok, err := range e.Generate(x.t.Context(), r) {
					if err != nil {
						x.t.Error(err)
						return
					}
					ids = append(ids, tok.ID)
				}
				take(ids, stats)
			}
		})
	}
	wg.Wait()
	return counts, accepted
}

// chiSquare compares counts with their expectations. It joins the cells with an expectation under
// 5. limit is the 0.999 quantile.
func chiSquare(counts []int, joint []float64) (chi, limit float64) {
	total := 0
	for _, n := range counts {
		total += n
	}
	cells, rest, restWant := 0, 0, 0.0
	add := func(n int, want float64) {
		cells++
		chi += (float64(n) - want) * (float64(n) - want) / want
	}
	for i, p := range joint {
		switch want := p * float64(total); {
		case want >= 5:
			add(counts[i], want)
		case want == 0 && counts[i] > 0:
			return math.Inf(1), 0
		default:
			rest, restWant = rest+counts[i], restWant+want
		}
	}
	if restWant > 0 {
		add(rest, restWant)
	}
	// Wilson and Hilferty's approximation.
	const z = 3.0902
	df := float64(cells - 1)
	return chi, df * math.Pow(1-2/(9*df)+z*math.Sqrt(2/(9*df)), 3)
}

// TestDraftsKeepTheDistribution draws from the loop with drafts and compares with the distribution
// of plain decoding, computed from the model. Penalties count the output since the prompt, so each
// episode under penalties is a request of its own. Other requests have many episodes.
func TestDraftsKeepTheDistribution(t *testing.T) {
	for _, rule := range []Rule{Coupled, Rejection} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			x := newStatistic(t)
			for _, c := range []struct {
				name     string
				p        sample.Params
				each     int
				rollback Rollback
				sure     bool
				block    string // kind of blockGuesser, empty for the guesser
			}{
				{name: "temperature 1", p: sample.Params{Temperature: 1}, each: 200},
				{name: "temperature 0.7", p: sample.Params{Temperature: 0.7}, each: 200},
				{name: "top-k", p: sample.Params{Temperature: 1, TopK: 5}, each: 200},
				{name: "top-p", p: sample.Params{Temperature: 1, TopP: 0.8}, each: 200},
				{name: "penalties", p: sample.Params{Temperature: 1, RepetitionPenalty: 1.3, PresencePenalty: 0.3, FrequencyPenalty: 0.3}, each: 1},
				{name: "certain guesses, snapshots", p: sample.Params{Temperature: 0.7, TopP: 0.9}, each: 200, rollback: Undo, sure: true},
				{name: "a walk", p: sample.Params{Temperature: 0.8, TopP: 0.9}, each: 200, block: "walk"},
				{name: "a chain", p: sample.Params{Temperature: 0.8, TopP: 0.9}, each: 200, block: "chain"},
				{name: "a cut head", p: sample.Params{Temperature: 0.8, TopP: 0.9}, each: 200, block: "cut head"},
				{name: "a cut head, penalties", p: sample.Params{Temperature: 1, RepetitionPenalty: 1.3, FrequencyPenalty: 0.3}, each: 1, block: "cut head"},
				{name: "a walk over a cut head", p: sample.Params{Temperature: 0.8, TopK: 8}, each: 200, block: "cut walk"},
			} {
				if rule == Coupled && c.block != "" && c.block != "walk" {
					continue // it never asks for the distribution
				}
				start := time.Now()
				depth := 7
				switch {
				case c.each == 1:
					depth = 2
				case c.sure || c.block != "":
					depth = 3 // rejection accepts few drafts
				}
				x.guesser.sure = c.sure
				if x.drafter = x.guesser; c.block != "" {
					x.drafter = x.blocks[c.block]
				}
				r := Request{Sampling: c.p, Speculation: Speculation{Rule: rule, Depth: &depth,
					Rollback: c.rollback}}
				counts, accepted := x.draw(r, samples, c.each)
				chi, limit := chiSquare(counts, x.joint(c.p))
				t.Logf("%s: chi-square %.1f, at most %.1f; %d rounds accepted 0, 1, ... drafts; %.1f s",
					c.name, chi, limit, accepted, time.Since(start).Seconds())
				if chi > limit {
					t.Errorf("%s: the distribution is not that of plain decoding: chi-square %.1f, at most %.1f",
						c.name, chi, limit)
				}
				if slices.Min(accepted) < 100 {
					t.Errorf("%s: rounds accepted 0, 1, ... drafts %v times", c.name, accepted)
				}
			}
		})
	}
}

// TestDistributionFindsBias plants three faults: acceptance favours drafts, accepts all of them
// unseen, or a drafter of each kind reports another distribution than it draws from. A fifth of the
// samples reveals each.
func TestDistributionFindsBias(t *testing.T) {
	x := newStatistic(t)
	p := sample.Params{Temperature: 1}
	joint := x.joint(p)
	for _, c := range []struct {
		rule  Rule
		lean  float64
		blind bool
		lie   bool
		sure  bool
		block string
		fair  bool
	}{
		{rule: Coupled, fair: true},
		{rule: Coupled, lean: 0.5},
		{rule: Coupled, blind: true},
		{rule: Rejection, fair: true},
		{rule: Rejection, lean: 0.5},
		{rule: Rejection, blind: true},
		{rule: Rejection, sure: true, fair: true},
		{rule: Rejection, sure: true, blind: true},
		{rule: Rejection, lie: true},
		{rule: Coupled, lie: true, fair: true}, // never asks for the distribution
		{rule: Rejection, block: "walk", lie: true},
		{rule: Rejection, block: "chain", fair: true},
		{rule: Rejection, block: "chain", lie: true},
		{rule: Rejection, block: "cut head", fair: true},
		{rule: Rejection, block: "cut head", lie: true},
		{rule: Rejection, block: "cut walk", fair: true},
		{rule: Rejection, block: "cut walk", lie: true},
	} {
		x.model.lean, x.model.blind, x.guesser.sure = c.lean, c.blind, c.sure
		if x.drafter = x.guesser; c.block != "" {
			x.drafter = x.blocks[c.block]
		}
		if c.lie {
			x.drafter = liar{x.drafter}
		}
		r := Request{Sampling: p, Speculation: Speculation{Rule: c.rule, Depth: new(7)}}
		counts, _ := x.draw(r, samples/5, 200)
		chi, limit := chiSquare(counts, joint)
		t.Logf("%+v: chi-square %.1f, at most %.1f", c, chi, limit)
		if (chi <= limit) != c.fair {
			t.Errorf("%+v: chi-square %.1f, at most %.1f", c, chi, limit)
		}
	}
}
