package draft

import (
	"fmt"
	"math"
	"slices"
)

// Buckets are the context lengths, in tokens, up to which one state holds. As the context grows,
// attention makes plain rounds and blocks more expensive, by different factors.
var Buckets = [...]int{1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17,
	1 << 18}

// Bucket returns the bucket of a context of n tokens. The last one includes all longer contexts.
func Bucket(n int) int {
	i, _ := slices.BinarySearch(Buckets[:], n)
	return Buckets[min(i, len(Buckets)-1)]
}

// A Key says what a State applies to.
type Key struct {
	Model   string
	Drafter string // its Name
	Bucket  int    // one of Buckets
}

// A Store keeps states from launch to launch.
type Store interface {
	// LoadPolicy returns the state of a key, or nil.
	LoadPolicy(Key) (*State, error)

	SavePolicy(Key, State) error
}

// A State is what a controller has learned.
type State struct {
	Costs []Cost `json:"costs"` // by depth, ascending
	Rates []Rate `json:"rates"` // by position

	// Signs say how acceptance depends on what is known before a round. Missing ones, as in states
	// of earlier versions, are as for a new controller.
	Signs []Sign `json:"signs,omitempty"`
}

// A Sign is one thing that is known before a round.
type Sign struct {
	Name  string  `json:"name"`
	Mean  float64 `json:"mean"`  // over rounds, from 0 to 1
	First float64 `json:"first"` // weight for the first draft of a round
	Later float64 `json:"later"` // weight for the others
}

// A Cost is the measured cost of rounds of one depth.
type Cost struct {
	Depth   int     `json:"depth"`
	Seconds float64 `json:"seconds"`
	Samples int     `json:"samples"`
}

// A Rate is how often the draft at one position was accepted, given that those
// before it were.
type Rate struct {
	Mean    float64 `json:"mean"`
	Samples int     `json:"samples"`
}

// Limits of a state that is restored.
const (
	maxRoundSeconds = 600.0
	maxSamples      = 1 << 20 // a higher count is cut to it
	maxSigns        = 64
)

// Check refuses a state that no controller has written.
func (s State) Check() error {
	last := -1
	for _, c := range s.Costs {
		switch {
		case c.Depth <= last || c.Depth > MaxDepth:
			return fmt.Errorf("learned policy: depth %d after %d; depths ascend to %d at most",
				c.Depth, last, MaxDepth)
		case !(c.Seconds > 0 && c.Seconds <= maxRoundSeconds):
			return fmt.Errorf("learned policy: depth %d costs %v s; a cost is above 0 and at most %v",
				c.Depth, c.Seconds, maxRoundSeconds)
		case c.Samples < 0:
			return fmt.Errorf("learned policy: depth %d has %d samples", c.Depth, c.Samples)
		}
		last = c.Depth
	}
	if len(s.Rates) > MaxDepth {
		return fmt.Errorf("learned policy: %d positions; a round has %d at most",
			len(s.Rates), MaxDepth)
	}
	for i, r := range s.Rates {
		switch {
		case math.IsNaN(r.Mean) || r.Mean < 0 || r.Mean > 1:
			return fmt.Errorf("learned policy: position %d is accepted at a rate of %v, which is not between 0 and 1",
				i, r.Mean)
		case r.Samples < 0:
			return fmt.Errorf("learned policy: position %d has %d samples", i, r.Samples)
		}
	}
	return checkSigns(s.Signs)
}

func checkSigns(signs []Sign) error {
	if len(signs) > maxSigns {
		return fmt.Errorf("learned policy: %d signs; there are %d at most", len(signs), maxSigns)
	}
	for _, x := range signs {
		switch {
		case !(x.Mean >= 0 && x.Mean <= 1):
			return fmt.Errorf("learned policy: sign %q has a mean of %v, which is not between 0 and 1",
				x.Name, x.Mean)
		case !(math.Abs(x.First) <= maxWeight && math.Abs(x.Later) <= maxWeight):
			return fmt.Errorf("learned policy: sign %q has weights of %v and %v; %v is the most",
				x.Name, x.First, x.Later, maxWeight)
		}
	}
	return nil
}

// drafted reports whether a state holds more than plain rounds, which Restore ignores.
func (s State) drafted() bool {
	return len(s.Rates) > 0 || len(s.Costs) > 0 && s.Costs[len(s.Costs)-1].Depth > 0
}

// State returns what was learned. It shares nothing with the controller.
func (c *controller) State() State {
	var s State
	for d, p := range c.curve.points {
		if p.cost > 0 && p.samples > 0 {
			s.Costs = append(s.Costs, Cost{d, p.cost, p.samples})
		}
	}
	for i, r := range c.rates.rates {
		if r.samples > 0 {
			s.Rates = slices.Grow(s.Rates, i+1)[:i+1]
			s.Rates[i] = Rate{r.mean, r.samples}
		}
	}
	if v := &c.rates.model; v.rounds > 0 {
		for i, name := range signalNames {
			s.Signs = append(s.Signs, Sign{name, v.mean[i], v.first[i], v.later[i]})
		}
	}
	return s
}

// Restore replaces what is known by a state that was learned earlier. It refuses an invalid state
// and then changes nothing. What it restores counts until rounds show otherwise. The cost of plain
// rounds is not restored: everything is compared with it, and measuring it costs nothing.
func (c *controller) Restore(s State) error {
	if err := s.Check(); err != nil {
		return err
	}
	c.curve, c.rates = curve{}, acceptance{}
	for _, p := range s.Costs {
		if p.Depth > 0 && p.Depth <= c.limit {
			c.curve.points[p.Depth] = point{cost: p.Seconds, samples: min(p.Samples, maxSamples),
				lastRound: -stale - 1}
		}
	}
	for i, r := range s.Rates {
		n := min(r.Samples, maxSamples)
		c.rates.rates[i] = rate{mean: r.Mean, recent: r.Mean, samples: n, window: n}
	}
	c.rates.model.restore(s.Signs)
	c.last, c.chosen = -1, 0
	c.probe.reset()
	return nil
}

// inherit starts from what was learned in another context bucket.
func (c *controller) inherit(from *controller) {
	c.curve, c.rates = from.curve, from.rates
	c.chosen = from.chosen
}
