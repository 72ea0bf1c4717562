package draft

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// editCosts are the costs of rounds with n-gram drafts on a CPU, in plain steps: measured at the
// depths in the table, linear between them.
func editCosts(depth int) float64 {
	measured := [][2]float64{{0, 1}, {1, 1.08}, {2, 1.2}, {3, 1.25}, {4, 0.95}, {5, 1}, {7, 1.09},
		{8, 1.3}, {9, 1.36}, {11, 1.5}, {15, 1.63}, {17, 1.68}, {MaxDepth, 2.8}}
	d := float64(depth)
	i := max(slices.IndexFunc(measured, func(p [2]float64) bool { return p[0] >= d }), 1)
	a, b := measured[i-1], measured[i]
	return a[1] + (b[1]-a[1])*(d-a[0])/(b[0]-a[0])
}

// An edit is a text that copies passages of the prompt. Between two passages is another word, after
// which the drafter finds no match for some tokens.
type edit struct {
	waver float64 // relative standard deviation of the machine's tempo
	over  float64 // rounds that a change of the tempo lasts
}

// decode decodes n tokens with the depths of the controller, and returns the seconds that it took.
func (e edit) decode(seed uint64, n int, depth func(limit int) int, round func(Round)) float64 {
	text, machine := rand.New(rand.NewPCG(seed, 4)), rand.New(rand.NewPCG(seed, 3))
	clock, tempo, last := 0.0, 0.0, 0
	passage, gap := 0, 6 // tokens left of them
	next := func() {
		passage, gap = 0, text.IntN(6)
		if text.Float64() > 0.15 {
			passage = int(24 * text.ExpFloat64())
		}
	}
	for tokens := 0; tokens < n; {
		if e.over > 0 {
			tempo += e.waver*math.Sqrt(2/e.over)*machine.NormFloat64() - tempo/e.over
		}
		limit := 0
		if gap <= 0 {
			limit = min(MaxDepth, n-tokens-1)
		}
		d := min(depth(limit), limit)
		steps := editCosts(d)
		if d != last {
			steps += 0.1 // a pipeline to fill
		}
		last = d
		steps *= math.Exp(tempo + 0.06*machine.NormFloat64())
		if machine.IntN(often) == 0 {
			steps *= elsewhere
		}
		cost := time.Duration(steps * float64(plainStep))
		accepted := min(d, passage)
		clock += cost.Seconds()
		tokens += accepted + 1
		if gap > 0 {
			gap--
		} else if passage -= accepted + 1; passage < 0 {
			next()
		}
		round(Round{Depth: d, Accepted: accepted, Cost: cost})
	}
	return clock
}

// Few rounds measure each passage, and passages end at any position. The controller must not stay
// at a depth because the others had bad luck.
func TestDepthFollowsTheEdits(t *testing.T) {
	const seeds, texts, tokens = 40, 3, 2000
	all := make([]float64, 0, 4*seeds)
	for _, e := range []edit{{}, {0.1, 40}, {0.15, 100}, {0.2, 400}} {
		sum := 0.0
		for seed := range uint64(seeds) {
			best := math.Inf(1)
			for _, d := range []int{3, 7, 15} {
				fixed := 0.0
				for i := range uint64(texts) {
					fixed += e.decode(seed*10+i, tokens, func(int) int { return d }, func(Round) {})
				}
				best = min(best, fixed)
			}
			c := newController(MaxDepth)
			round := func(r Round) {
				if r.Depth > 0 {
					c.Round(r)
				} else {
					c.Plain(r.Cost)
				}
			}
			e.decode(seed+5000, 1500, c.Depth, round)
			adaptive := 0.0
			for i := range uint64(texts) {
				adaptive += e.decode(seed*10+i, tokens, c.Depth, round)
			}
			all = append(all, best/adaptive)
			sum += best / adaptive
		}
		t.Logf("tempo wavers by %v over %v rounds: %.3f of the speed of the best of three fixed blocks",
			e.waver, e.over, sum/seeds)
	}
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	slices.Sort(all)
	mean, low := sum/float64(len(all)), all[len(all)/10]
	t.Logf("on average %.3f, one run in ten is below %.3f", mean, low)
	if mean < 0.993 || low < 0.965 {
		t.Errorf("%.3f of the best fixed block's speed, one run in ten below %.3f: want 0.993 and 0.965",
			mean, low)
	}
}
