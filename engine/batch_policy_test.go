package engine

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tandem/engine/draft"
)

func TestBatchPolicyMeasuresSteps(t *testing.T) {
	var c batchPolicy
	check := func(what string, n int, want float64) {
		t.Helper()
		if got := c.rate(n); got != want && !(math.Abs(got/want-1) < 0.02) {
			t.Errorf("%s: %d requests get %g tokens per second, want %g", what, n, got, want)
		}
	}
	check("nothing measured", 3, math.Inf(1))
	c.measured(1, 10*time.Millisecond)
	check("one measured", 1, 100)
	check("one measured", 3, 300)
	c.measured(3, 20*time.Millisecond)
	check("three measured", 3, 150)
	check("three measured", 2, 200)
	check("three measured", 4, 200)
	c.measured(3, time.Hour)
	if got := c.rate(3); got < 100 {
		t.Errorf("a pause leaves %g tokens per second", got)
	}
	for range 30 {
		c.measured(3, 40*time.Millisecond)
	}
	check("slower", 3, 75)
}

// TestGuessesDoNotSlowDownOtherAnswers expects drafts only under two conditions: all requests
// together get more by them, and no request gets less than plain steps would give it.
func TestGuessesDoNotSlowDownOtherAnswers(t *testing.T) {
	const ms = time.Millisecond
	one := func(tokens float64, cost time.Duration) bid {
		return bid{Offer: draft.Offer{Tokens: tokens, Cost: cost.Seconds()}}
	}
	for _, c := range []struct {
		name  string
		steps []time.Duration // by the number of requests, from 1 on; 0 = not measured
		bids  []bid
		n     int
		want  int // taken
	}{
		{"no step is measured", nil, []bid{one(4, 12*ms), one(4, 12*ms)}, 2, 0},
		{"both gain", []time.Duration{10 * ms, 11 * ms}, []bid{one(3, 12*ms), one(3, 12*ms)}, 2, 2},
		{"both lose", []time.Duration{10 * ms, 11 * ms}, []bid{one(2, 12*ms), one(2, 12*ms)}, 2, 0},
		{"one gains, the other would lose", []time.Duration{10 * ms, 11 * ms}, []bid{one(8, 12*ms)}, 2, 0},
		{"one gains, the other loses nothing", []time.Duration{10 * ms, 25 * ms}, []bid{one(3, 12*ms)}, 2, 1},
		{"all together gain, one of them loses", []time.Duration{10 * ms, 11 * ms}, []bid{one(9, 12*ms), one(1.2, 12*ms)}, 2, 0},
		{"the better of two", []time.Duration{10 * ms, 20 * ms, 40 * ms}, []bid{one(1.1, 12*ms), one(4, 12*ms)}, 3, 1},
		{"what the rest costs is not measured", []time.Duration{0, 25 * ms}, []bid{one(3, 12*ms)}, 2, 0},
		{"what all cost is not measured, and may be as little as of fewer", []time.Duration{10 * ms}, []bid{one(3, 12*ms), one(3, 12*ms)}, 2, 2},
		{"nor does it pay then", []time.Duration{10 * ms}, []bid{one(2, 12*ms), one(2, 12*ms)}, 2, 0},
		{"no bids", []time.Duration{10 * ms, 11 * ms}, nil, 2, 0},
	} {
		var p batchPolicy
		for i, cost := range c.steps {
			if cost > 0 {
				p.measured(i+1, cost)
			}
		}
		taken := p.choose(c.bids, c.n)
		if len(taken) != c.want {
			t.Errorf("%s: %d of %d are taken, want %d", c.name, len(taken), len(c.bids), c.want)
		}
		if c.want == 1 && len(c.bids) > 1 && taken[0].Tokens != 4 {
			t.Errorf("%s: the bid of %g tokens is taken", c.name, taken[0].Tokens)
		}
	}
}

// TestNoAnswerIsSlowerThanSharedSteps tries random costs of steps and drafts. No request gets less
// than plain steps would give it, and all together never get less.
func TestNoAnswerIsSlowerThanSharedSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	some := 0
	for range 10_000 {
		var c batchPolicy
		n := 1 + rng.IntN(8)
		cost := 0.0
		steps := []float64{0}
		for m := range n {
			cost += rng.Float64() * 0.01
			steps = append(steps, cost)
			c.measured(m+1, time.Duration(cost*1e9))
		}
		var bids []bid
		for range rng.IntN(n + 1) {
			bids = append(bids, bid{Offer: draft.Offer{Tokens: 1 + 7*rng.Float64(),
				Cost: rng.Float64() * 0.02}})
		}
		taken := c.choose(bids, n)
		if len(taken) == 0 {
			continue
		}
		some++
		round, tokens := steps[n-len(taken)], float64(n-len(taken))
		for _, b := range taken {
			round += b.Cost
			tokens += b.Tokens
		}
		const rounding = 1 + 1e-4
		if tokens/round*rounding < float64(n)/steps[n] {
			t.Errorf("%d requests get %g tokens per second, %g from plain steps",
				n, tokens/round, float64(n)/steps[n])
		}
		for _, b := range taken {
			if b.Tokens/round*rounding < 1/steps[n] {
				t.Errorf("a request that drafts gets %g tokens per second, %g from plain steps",
					b.Tokens/round, 1/steps[n])
			}
		}
		if n > len(taken) && 1/round*rounding < 1/steps[n] {
			t.Errorf("a request without drafts gets %g tokens per second, %g from plain steps",
				1/round, 1/steps[n])
		}
	}
	if some < 500 {
		t.Errorf("drafts were taken only %d times", some)
	}
}
