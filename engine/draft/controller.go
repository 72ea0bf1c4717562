package draft

import "time"

const (
	// hysteresis is how much better another depth has to be: within it the
	// estimates are noise, and only rounds that stay at one depth measure it.
	hysteresis = 0.02

	// gain is how much faster than plain decoding drafts have to be to be
	// chosen; once they are, as fast will do.
	gain = 0.01

	// drift is how far the cost of the chosen depth moves before that counts
	// as a change and probing starts over.
	drift = 0.3
)

// A Controller chooses how many drafts a round verifies: as many as give the
// most tokens per time, by what rounds cost and how often drafts at each
// position were accepted. None at all is a choice, made where drafts do not
// pay. What it knows holds for one target, drafter and context bucket, and is
// shared by the requests of an engine. It is deterministic: time comes in with
// the rounds.
//
// A depth is chosen among those up to twice the deepest measured one. Others
// are probed now and then. Losses against plain decoding are bounded whatever
// happens (see budget.go).
//
// A Controller belongs to the goroutine that schedules the rounds; it does not
// lock.
type Controller struct {
	limit  int // most drafts
	curve  curve
	rates  acceptance
	budget *budget
	probe  probe

	chosen int // depth, 0 = plain
	last   int // depth of the last round, -1 if it was another drafter's

	settled     int     // chosen when probing last started over
	settledCost float64 // and its cost
}

// NewController knows nothing yet. limit is the most drafts the drafter makes.
func NewController(limit int) *Controller {
	c := &Controller{limit: min(max(limit, 0), MaxDepth), budget: newBudget(), last: -1}
	c.probe.reset()
	return c
}

// A Round is what came of one that did not end its request: one that did is
// not judged to its end, and not told of.
type Round struct {
	Depth    int           // drafts verified: what was proposed, not what was asked for
	Accepted int           // of these
	Cost     time.Duration // of drafting, verifying and what belongs to it
}

// Depth returns how many drafts the next round should ask for, max at most;
// 0 is a plain round. It changes nothing: asking again gives the same answer.
func (c *Controller) Depth(max int) int {
	return c.plan(max, 0)
}

// Round takes in a round with drafts. One whose drafter proposed nothing is
// Plain.
func (c *Controller) Round(r Round) {
	c.round(r)
	c.budget.earn(max(min(r.Accepted, r.Depth), 0)+1, c.pays())
}

// Plain takes in a plain round, which emitted one token.
func (c *Controller) Plain(cost time.Duration) {
	c.plain(cost)
	c.budget.earn(1, c.pays())
}

// pays reports whether drafts gain, by what was measured: one that has never proposed
// anything is expected to, so that it will be tried, and that is no reason to lose more.
func (c *Controller) pays() bool { return c.chosen > 0 && c.curve.frontier() > 0 }

// plan returns the depth of the next round. rival is what another drafter
// would give in it, in tokens per second.
func (c *Controller) plan(limit int, rival float64) int {
	limit = min(limit, c.limit)
	switch {
	case limit <= 0, c.curve.points[0].samples < settling, c.budget.spent():
		return 0
	case c.probe.rounds > 0:
		return min(c.probe.depth, limit)
	}
	return c.choose(limit, rival)
}

// best returns the drafts, limit at most and at least one, that give the most
// tokens per second, and that rate.
func (c *Controller) best(limit int) (depth int, rate float64) {
	tokens := c.rates.expected()
	for d := 1; d <= min(limit, c.limit, max(2*c.curve.frontier(), 1)); d++ {
		if r := tokens[d] / c.curve.at(d); r > rate*(1+1e-9) {
			depth, rate = d, r
		}
	}
	if d := c.chosen; d > 0 && d <= limit {
		if r := tokens[d] / c.curve.at(d); r*(1+hysteresis) >= rate {
			return d, r
		}
	}
	return depth, rate
}

// choose is best where that beats plain decoding and the rival, else 0.
func (c *Controller) choose(limit int, rival float64) int {
	depth, rate := c.best(limit)
	least := 1.0
	if c.chosen == 0 {
		least += gain
	}
	if rate <= least/c.curve.at(0) || rate < rival {
		return 0
	}
	return depth
}

func (c *Controller) round(r Round) {
	depth := min(max(r.Depth, 0), MaxDepth)
	accepted := min(max(r.Accepted, 0), depth)
	if depth == 0 {
		c.plain(r.Cost)
		return
	}
	c.curve.record(depth, r.Cost, c.last == depth)
	c.rates.record(depth, accepted)
	begun := c.last == 0
	c.last = depth
	if plain := c.curve.at(0); plain > 0 {
		cost := r.Cost.Seconds()
		if begun {
			c.budget.add(-restart)
		}
		if c.curve.points[depth].samples >= settling {
			// Beyond that it is the machine that is slow, plain or not.
			cost = min(cost, (1+costClamp)*c.curve.at(depth))
		}
		c.budget.add(float64(accepted+1) - cost/plain)
	}
	if c.probe.rounds > 0 && c.probe.depth > 0 {
		c.probe.rounds--
		if c.chosen == 0 && accepted > 0 {
			// Something is there: go on while it lasts, and come back soon.
			c.probe.rounds = max(c.probe.rounds, 1)
			c.probe.wait = min(c.probe.wait, probeFirst)
		}
	}
	c.lookAhead()
}

func (c *Controller) plain(cost time.Duration) {
	before := c.curve.at(0)
	c.curve.record(0, cost, c.last == 0)
	if c.curve.at(0)*(1+costClamp) < before {
		c.budget.dropGains()
	}
	c.last = 0
	if c.probe.depth == 0 && (c.probe.rounds > 1 || c.probe.rounds == 1 && !c.curve.unsure(0)) {
		c.probe.rounds--
	}
	c.lookAhead()
}

// other takes in a round of another drafter.
func (c *Controller) otherRound() {
	c.last = -1
	if c.probe.depth == 0 {
		c.probe.rounds = 0 // not for this one to ask any more
	}
	if c.probe.rounds == 0 && c.probe.tick() {
		c.tryBest()
		c.probe.next(rivalLimit)
	}
}

// tryBest starts a probe of what would be best if this drafter were to propose.
func (c *Controller) tryBest() {
	depth, _ := c.best(c.limit)
	c.startProbe(depth)
}

// try starts a probe of a depth.
func (c *Controller) startProbe(depth int) {
	rounds := 1
	if !c.curve.measured(depth) {
		rounds = probeRounds
	}
	c.probe.start(depth, rounds)
}

// turn looks ahead after a round: at what is best now, and whether to probe.
func (c *Controller) lookAhead() {
	if c.curve.points[0].samples < settling {
		return
	}
	c.chosen = c.choose(c.limit, 0)
	cost := c.curve.at(c.chosen)
	moved := max(c.chosen-c.settled, c.settled-c.chosen) > 1 || (c.chosen == 0) != (c.settled == 0)
	if moved || cost > c.settledCost*(1+drift) || cost < c.settledCost*(1-drift) {
		drifted := !moved && c.settledCost > 0
		c.settled, c.settledCost = c.chosen, cost
		rounds, depth := c.probe.rounds, c.probe.depth
		c.probe.reset()
		if drifted {
			c.probe.turn = probePlain // before all, is plain decoding as it was?
		}
		if depth > 0 && c.chosen == 0 {
			c.probe.depth, c.probe.rounds = depth, rounds // let it run out
		}
		return
	}
	if c.probe.rounds > 0 {
		if c.chosen == 0 && c.curve.measured(c.probe.depth) {
			c.probe.depth, _ = c.best(c.limit)
		}
		return
	}
	switch {
	case c.chosen == 0:
		if c.probe.tick() {
			depth, _ := c.best(c.limit)
			// What few drafts cost says little of what many do: another kernel
			// may compute these. Now and then more are tried than were ever.
			if deeper := min(2*c.curve.frontier(), c.limit); c.probe.turn%probeDeeper == probeDeeper-1 && !c.curve.measured(deeper) {
				depth = deeper
			}
			c.startProbe(depth)
			c.probe.turn++
			tokens := c.rates.expected()
			lost := c.curve.at(depth)/c.curve.at(0) - tokens[depth]
			c.probe.next(min(max(spreadOver(lost+restart), parkedLimit), probeLimit))
			c.probe.stretch(lost)
		}
	case c.probe.tick():
		// One deeper, one shallower and none at all take turns: what plain
		// decoding costs is what all depends on, and it is not measured while
		// drafts pay. The strides grow, out of what may be a local best.
		stride := 1 << min(c.probe.turn/(probePlain+1), 2)
		around := [...]int{min(c.chosen+stride, c.limit), max(c.chosen-stride, 1), probePlain: 0}
		depth := around[c.probe.turn%len(around)]
		c.probe.turn++
		if depth == c.chosen {
			depth = 0
		}
		tokens := c.rates.expected()
		lost := 1 - tokens[depth]/c.curve.at(depth)/(tokens[c.chosen]/c.curve.at(c.chosen))
		c.probe.start(depth, probeRounds)
		c.probe.next(probeLimit)
		c.probe.wait = max(c.probe.wait, spreadOver(probeRounds*lost))
	}
}
