package draft

import (
	"time"

	"tandem/engine/cache"
)

// MaxDepth is the most drafts of one round: a block has one row more, for the current token.
const MaxDepth = cache.MaxBlock - 1

// How costs are measured.
const (
	costAlpha = 0.3 // weight of a new sample

	// costClamp bounds what one sample can move, as a share of the cost. A single sample that is
	// higher still is not counted: a pause of the machine is not the cost of a depth.
	costClamp = 0.25

	// settling is how many samples of a depth are taken at face value where they are lower: the
	// first rounds of a shape may compile kernels.
	settling = 3

	// stale is after how many rounds any new measurement replaces a cost: the machine may have
	// changed.
	stale = 64

	// maxTransitions is how many rounds of a depth without samples are left out because the round
	// before had another depth. Then the lowest of their costs is taken.
	maxTransitions = 4
)

// A curve is the cost of a round by its depth, in seconds. Points are measured. Between two of them
// it is a straight line.
type curve struct {
	points [MaxDepth + 1]point
	rounds int // recorded or not
}

type point struct {
	cost        float64 // 0 = not measured
	samples     int
	lastRound   int  // curve.rounds at the last sample
	high        bool // the last round was beyond the clamp
	transitions int  // rounds not counted before the first sample
	minCost     float64
}

// record adds a round. sameDepth says that the round before had the same depth. Changing the depth
// has its own cost, a pipeline to fill or taps to catch up on, which belongs to neither depth.
func (c *curve) record(depth int, cost time.Duration, sameDepth bool) {
	p, x := &c.points[depth], cost.Seconds()
	c.rounds++
	if x <= 0 {
		return
	}
	if !sameDepth {
		if p.samples == 0 {
			if p.transitions == 0 || x < p.minCost {
				p.minCost = x
			}
			if p.transitions++; p.transitions >= maxTransitions {
				p.cost = p.minCost
			}
		}
		return
	}
	high, low := x > p.cost*(1+costClamp), x < p.cost/(1+costClamp)
	old := p.samples > 0 && c.rounds-p.lastRound > stale
	switch {
	case p.samples == 0:
		p.cost = x
	case high && !p.high:
		p.high = true
		return
	case old && (high || low):
		p.cost, p.samples = x, 0 // another state of the machine
	case p.samples < settling && x < p.cost:
		p.cost = x
	default:
		p.cost += costAlpha * min(max(x-p.cost, -costClamp*p.cost), costClamp*p.cost)
	}
	p.high = high && p.samples > 0
	p.samples++
	p.lastRound = c.rounds
}

// unsure reports whether another sample of a depth is wanted, because the last was too high or there
// are too few.
func (c *curve) unsure(depth int) bool {
	p := c.points[depth]
	return p.high || p.samples < settling
}

func (c *curve) measured(depth int) bool { return c.points[depth].cost > 0 }

// frontier returns the deepest measured depth.
func (c *curve) frontier() int {
	for d := MaxDepth; d > 0; d-- {
		if c.measured(d) {
			return d
		}
	}
	return 0
}

// at returns the cost of a depth, in seconds. Beyond the deepest measured depth it is a low
// estimate, so that the depth gets tried. The estimate grows per token as between the last two
// measured depths but 0. With one of them it does not grow. Depth 0 costs 0 until it is measured, and
// the line to the first measured depth begins there.
func (c *curve) at(depth int) float64 {
	if c.measured(depth) {
		return c.points[depth].cost
	}
	below, above := depth, depth
	for below > 0 && !c.measured(below) {
		below--
	}
	for above < MaxDepth && !c.measured(above) {
		above++
	}
	low, high := c.points[below].cost, c.points[above].cost
	if high > 0 {
		return low + (high-low)*float64(depth-below)/float64(above-below)
	}
	slope := 0.0
	for d := below - 1; d > 0; d-- {
		if c.measured(d) {
			slope = max(0, (low-c.points[d].cost)/float64(below-d))
			break
		}
	}
	return low + slope*float64(depth-below)
}
