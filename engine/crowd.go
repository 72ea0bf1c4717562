package engine

import (
	"math"
	"time"
)

// stepAlpha is the weight of a new step in what steps cost.
const stepAlpha = 0.2

// A crowd knows what plain steps cost that several requests share. They give
// more tokens per time than those of one, and a round with drafts, which is
// one request's, has to beat them all.
type crowd struct {
	costs []float64 // seconds, by number of requests; 0 = not measured
}

// step takes in a step of n requests.
func (c *crowd) step(n int, cost time.Duration) {
	for len(c.costs) <= n {
		c.costs = append(c.costs, 0)
	}
	if x := cost.Seconds(); c.costs[n] == 0 {
		c.costs[n] = x
	} else {
		c.costs[n] += stepAlpha * (min(x, 2*c.costs[n]) - c.costs[n]) // a pause is no cost
	}
}

// rate returns how many tokens per second n requests get from plain steps. As
// long as it is not measured it is taken from fewer requests, as if one more
// cost nothing; without any it is infinite. So it gets measured.
func (c *crowd) rate(n int) float64 {
	for m := min(n, len(c.costs)-1); m > 0; m-- {
		if c.costs[m] > 0 {
			return float64(n) / c.costs[m]
		}
	}
	return math.Inf(1)
}
