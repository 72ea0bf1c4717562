package draft

import "time"

const (
	// hysteresis is how much better another depth has to be. Smaller differences are noise, and
	// only rounds that stay at one depth measure it.
	hysteresis = 0.02

	// gain is how much faster than plain decoding drafts have to be to be chosen. Once chosen, they
	// only have to be as fast.
	gain = 0.01

	// drift is how far the cost of the chosen depth moves before it counts as a change and probing
	// starts over.
	drift = 0.3
)

// A controller chooses how many drafts a round verifies: the number that gives the most tokens per
// time, by what rounds cost and how many drafts were accepted at each position. Where drafts do not
// pay it chooses 0. What it learns holds for one target, drafter and context bucket, and is shared
// by the requests of an engine. It is deterministic: time comes in with the rounds.
//
// It chooses among depths up to twice the deepest measured one, and probes others now and then. A
// budget bounds losses against plain decoding in every case (budget.go).
//
// A controller belongs to the goroutine that schedules the rounds and does not lock.
type controller struct {
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

// newController returns a controller that knows nothing yet. limit is the most drafts of the
// drafter.
func newController(limit int) *controller {
	c := &controller{limit: min(max(limit, 0), MaxDepth), budget: newBudget(), last: -1}
	c.probe.reset()
	return c
}

// A Round is the result of a round that did not end its request. A round that did is cut short, and
// is not recorded.
type Round struct {
	Depth    int           // drafts proposed and verified, which may be fewer than asked for
	Accepted int           // of Depth
	Cost     time.Duration // of drafting and verifying

	// Confidence is how much of a whole proposal the drafter itself takes to be accepted, from 0 to
	// 1; 0 if it does not say.
	Confidence float64

	signals acceptanceSignals // of the proposal
}

// Round records a round with drafts. If the drafter proposed nothing, call plain.
func (c *controller) Round(r Round) {
	c.round(r)
	c.budget.earn(max(min(r.Accepted, r.Depth), 0)+1, c.pays())
}

// pays reports whether drafts gain by what was measured. A drafter that has never proposed is
// expected to gain, so that it gets tried, but gets no larger budget.
func (c *controller) pays() bool { return c.chosen > 0 && c.curve.frontier() > 0 }

// plan returns the depth of the next round. rival is the rate of another drafter, in tokens per
// second.
func (c *controller) plan(limit int, rival float64, o oddsRatio) int {
	limit = min(limit, c.limit)
	switch {
	case limit <= 0, c.curve.points[0].samples < settling, c.budget.spent():
		return 0
	case c.probe.rounds > 0:
		return min(c.probe.depth, limit)
	}
	return c.choose(limit, rival, o)
}

// best returns the number of drafts, from one to limit, that gives the most tokens per second, and
// that rate.
func (c *controller) best(limit int, o oddsRatio) (depth int, rate float64) {
	tokens := c.rates.expected(o)
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

// choose returns best where it beats plain decoding and the rival, else 0.
func (c *controller) choose(limit int, rival float64, o oddsRatio) int {
	depth, rate := c.best(limit, o)
	minGain := 1.0
	if c.chosen == 0 {
		minGain += gain
	}
	if rate <= minGain/c.curve.at(0) || rate < rival {
		return 0
	}
	return depth
}

func (c *controller) round(r Round) {
	depth := min(max(r.Depth, 0), MaxDepth)
	accepted := min(max(r.Accepted, 0), depth)
	if depth == 0 {
		c.plain(r.Cost)
		return
	}
	c.curve.record(depth, r.Cost, c.last == depth)
	c.rates.learn(r.signals, depth, accepted)
	begun := c.last == 0
	c.last = depth
	if plain := c.curve.at(0); plain > 0 {
		cost := r.Cost.Seconds()
		if begun {
			c.budget.add(-restart)
		}
		if c.curve.points[depth].samples >= settling {
			// A cost beyond that is a slow machine, which slows plain rounds too.
			cost = min(cost, (1+costClamp)*c.curve.at(depth))
		}
		c.budget.add(float64(accepted+1) - cost/plain)
	}
	if c.probe.rounds > 0 && c.probe.depth > 0 {
		c.probe.rounds--
		if c.chosen == 0 && accepted > 0 {
			// Drafts are accepted: continue while they are, and probe again soon.
			c.probe.rounds = max(c.probe.rounds, 1)
			c.probe.wait = min(c.probe.wait, probeFirst)
		}
	}
	c.lookAhead()
}

func (c *controller) plain(cost time.Duration) {
	before := c.curve.at(0)
	c.curve.record(0, cost, c.last == 0)
	if c.curve.at(0)*(1+costClamp) < before {
		c.budget.capGains()
	}
	c.last = 0
	if c.probe.depth == 0 && (c.probe.rounds > 1 || c.probe.rounds == 1 && !c.curve.unsure(0)) {
		c.probe.rounds--
	}
	c.lookAhead()
}

// recordUndrafted records the outcome of a preview that was not drafted: the first decided of its
// tokens are known, and came of them were right.
func (c *controller) recordUndrafted(x acceptanceSignals, decided, came int) {
	c.rates.learn(x, decided, came)
}

// otherRound records a round of another drafter.
func (c *controller) otherRound() {
	c.last = -1
	if c.probe.depth == 0 {
		c.probe.rounds = 0 // the other one probes plain rounds now
	}
	if c.probe.rounds == 0 && c.probe.tick() {
		c.tryBest()
		c.probe.next(rivalLimit)
	}
}

// tryBest starts a probe of the depth that would be best if this drafter proposed.
func (c *controller) tryBest() {
	depth, _ := c.best(c.limit, even)
	c.startProbe(depth)
}

// startProbe starts a probe of a depth.
func (c *controller) startProbe(depth int) {
	rounds := 1
	if !c.curve.measured(depth) {
		rounds = probeRounds
	}
	c.probe.start(depth, rounds)
}

// lookAhead decides after a round what is best now, and whether to probe.
func (c *controller) lookAhead() {
	if c.curve.points[0].samples < settling {
		return
	}
	c.chosen = c.choose(c.limit, 0, even)
	cost := c.curve.at(c.chosen)
	moved := max(c.chosen-c.settled, c.settled-c.chosen) > 1 || (c.chosen == 0) != (c.settled == 0)
	if moved || cost > c.settledCost*(1+drift) || cost < c.settledCost*(1-drift) {
		drifted := !moved && c.settledCost > 0
		c.settled, c.settledCost = c.chosen, cost
		rounds, depth := c.probe.rounds, c.probe.depth
		c.probe.reset()
		if drifted {
			c.probe.turn = probePlain // measure plain decoding again first
		}
		if depth > 0 && c.chosen == 0 {
			c.probe.depth, c.probe.rounds = depth, rounds // let it run out
		}
		return
	}
	if c.probe.rounds > 0 {
		if c.chosen == 0 && c.curve.measured(c.probe.depth) {
			c.probe.depth, _ = c.best(c.limit, even)
		}
		return
	}
	switch {
	case c.chosen == 0:
		if c.probe.tick() {
			depth, _ := c.best(c.limit, even)
			// The cost of few drafts says little about many: another kernel may compute them. Now
			// and then more are tried than ever before.
			deeper := min(2*c.curve.frontier(), c.limit)
			if c.probe.turn%probeDeeper == probeDeeper-1 && !c.curve.measured(deeper) {
				depth = deeper
			}
			c.startProbe(depth)
			c.probe.turn++
			tokens := c.rates.expected(even)
			lost := c.curve.at(depth)/c.curve.at(0) - tokens[depth]
			c.probe.next(min(max(spreadOver(lost+restart), parkedLimit), probeLimit))
			c.probe.stretch(lost)
		}
	case c.probe.tick():
		// A deeper probe, a shallower one and a plain one take turns. All depends on the cost of
		// plain decoding, which is not measured while drafts pay. The strides grow, to get out of a
		// local best.
		stride := 1 << min(c.probe.turn/(probePlain+1), 2)
		around := [...]int{min(c.chosen+stride, c.limit), max(c.chosen-stride, 1), probePlain: 0}
		depth := around[c.probe.turn%len(around)]
		c.probe.turn++
		if depth == c.chosen {
			depth = 0
		}
		tokens := c.rates.expected(even)
		lost := 1 - tokens[depth]/c.curve.at(depth)/(tokens[c.chosen]/c.curve.at(c.chosen))
		c.probe.start(depth, probeRounds)
		c.probe.next(probeLimit)
		c.probe.wait = max(c.probe.wait, spreadOver(probeRounds*lost))
	}
}
