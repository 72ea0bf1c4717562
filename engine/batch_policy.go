package engine

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tandem/engine/draft"
)

// stepAlpha is the weight of a new step in what steps cost.
const stepAlpha = 0.2

// A batchPolicy chooses between plain steps that several requests share and rounds with
// drafts, which serve one request each. It goes by what both were measured to give.
//
// A step gives each request one token and costs little more for many than for one. A round
// with drafts gives its request several tokens while all others wait. So drafts can make
// all together faster and some of them slower: one with a good drafter would gain at the
// cost of one that has none.
//
// Drafts are taken only where two things hold:
//
//   - all requests together get more tokens per second;
//   - no request gets fewer than plain steps shared by all would give it.
//
// In practice that is where drafts pay for everybody, or where the steps of the rest are
// cheaper by what the drafts cost.
type batchPolicy struct {
	costs []float64 // of a step in seconds, by number of requests; 0 = not measured
}

// measured takes in the cost of a step of n requests.
func (p *batchPolicy) measured(n int, cost time.Duration) {
	for len(p.costs) <= n {
		p.costs = append(p.costs, 0)
	}
	if x := cost.Seconds(); p.costs[n] == 0 {
		p.costs[n] = x
	} else {
		p.costs[n] += stepAlpha * (min(x, 2*p.costs[n]) - p.costs[n]) // a pause is no cost
	}
}

// atLeast returns what a step of n requests costs, in seconds. Where that is not measured
// it returns the cost for fewer requests, as if one more cost nothing, and 0 if no step was
// measured: drafts have to beat that, so that steps get measured.
func (p *batchPolicy) atLeast(n int) float64 {
	for m := min(n, len(p.costs)-1); m > 0; m-- {
		if p.costs[m] > 0 {
			return p.costs[m]
		}
	}
	return 0
}

// atMost returns what a step of m of n requests costs, in seconds. Where that is not
// measured it returns the cost for more of them, or infinity.
func (p *batchPolicy) atMost(m, n int) float64 {
	if m == 0 {
		return 0
	}
	for ; m <= min(n, len(p.costs)-1); m++ {
		if p.costs[m] > 0 {
			return p.costs[m]
		}
	}
	return math.Inf(1)
}

// rate returns how many tokens per second n requests get from plain steps together,
// infinity where that is not known.
func (p *batchPolicy) rate(n int) float64 {
	if cost := p.atLeast(n); cost > 0 {
		return float64(n) / cost
	}
	return math.Inf(1)
}

// A bid is the round with drafts that a request could have.
type bid struct {
	task *task
	draft.Offer
}

// choose returns the bids that are taken. n requests decode together, those without a bid
// included. It reorders the bids.
func (p *batchPolicy) choose(bids []bid, n int) []bid {
	step := p.atLeast(n)
	slices.SortStableFunc(bids, func(a, b bid) int { return cmp.Compare(b.Rate(), a.Rate()) })
	best, taken := p.rate(n), 0
	cost, tokens, minTokens := 0.0, 0.0, math.Inf(1)
	for i, b := range bids {
		cost += b.Cost
		tokens += b.Tokens
		minTokens = min(minTokens, b.Tokens)
		plain, slowest := n-i-1, minTokens
		if plain > 0 {
			slowest = min(slowest, 1)
		}
		round := cost + p.atMost(plain, n)
		// Each request gets its tokens once a round, and one token a step.
		if rate := (tokens + float64(plain)) / round; rate > best && slowest*step >= round {
			best, taken = rate, i+1
		}
	}
	return bids[:taken]
}
