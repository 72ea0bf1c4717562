package draft

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestCurveMeasuresCosts(t *testing.T) {
	var c curve
	for range 3 {
		c.record(0, 10*ms, true)
		c.record(2, 20*ms, true)
		c.record(6, 40*ms, true)
	}
	for depth, want := range map[int]float64{0: 0.010, 1: 0.015, 2: 0.020, 4: 0.030, 6: 0.040,
		8: 0.050} {
		if got := c.at(depth); math.Abs(got-want) > 1e-9 {
			t.Errorf("depth %d costs %v, want %v", depth, got, want)
		}
	}
	if c.frontier() != 6 {
		t.Errorf("frontier %d", c.frontier())
	}
	c.record(2, time.Second, true) // one pause
	if got := c.at(2); got != 0.020 {
		t.Errorf("after one pause depth 2 costs %v", got)
	}
	c.record(2, time.Second, true) // a second pause: a quarter of it at 0.3
	if got := c.at(2); math.Abs(got-0.0215) > 1e-9 {
		t.Errorf("after two pauses depth 2 costs %v, want 0.0215", got)
	}
	c.record(6, time.Second, false) // follows a round of another depth
	if got := c.at(6); got != 0.040 {
		t.Errorf("a round after one of another depth was counted: %v", got)
	}
	c.record(1, -ms, true)
	c.record(1, 0, true)
	if c.measured(1) {
		t.Error("an invalid cost was counted")
	}
	for range maxTransitions {
		c.record(3, 30*ms, false)
	}
	if got := c.at(3); got != 0.030 {
		t.Errorf("a depth that never comes twice in a row costs %v", got)
	}
}

func TestAcceptanceFollowsTheText(t *testing.T) {
	var a acceptance
	for range 20 {
		a.record(4, 2) // positions 0 and 1 accepted, 2 rejected, 3 not reached
	}
	for i, want := range []rate{{mean: 1, samples: 20}, {mean: 1, samples: 20},
		{mean: 0, samples: 20}, {}} {
		if got := a.rates[i]; got.mean != want.mean || got.samples != want.samples {
			t.Errorf("position %d: %+v, want %+v", i, got, want)
		}
	}
	// The third position leans on the second as on 8 accepted drafts, those after it on it.
	third := 8.0 / 28
	got := a.expected(even)
	if got[0] != 1 {
		t.Errorf("got[0] = %v, want 1", got[0])
	}
	if got[1] != 2 {
		t.Errorf("got[1] = %v, want 2", got[1])
	}
	if got[2] != 3 {
		t.Errorf("got[2] = %v, want 3", got[2])
	}
	if math.Abs(got[3]-3-third) > 1e-9 {
		t.Errorf("math.Abs(got[3]-3-third) = %v, want at most 1e-9",
			math.Abs(got[3]-3-third))
	}
	if math.Abs(got[MaxDepth]-3-third/(1-third)) > 1e-9 {
		t.Errorf("math.Abs(got[MaxDepth]-3-third/(1-third)) = %v, want at most 1e-9",
			math.Abs(got[MaxDepth]-3-third/(1-third)))
	}
	// Bad luck in a few rounds hides no deeper drafts.
	a = acceptance{}
	for range 50 {
		a.record(4, 4)
	}
	for range 3 {
		a.record(8, 4)
	}
	if got := a.expected(even); got[5] < 5.5 || got[8] < 6.5 {
		t.Errorf("expected tokens %v, three rejected drafts are believed", got[:9])
	}
}

func TestDepthStaysWithinLimits(t *testing.T) {
	for _, limit := range []int{-1, 0, 1, 7, 31, 1000} {
		c := newController(limit)
		r := newRun(world{"", 40, linear(0, 0.01), always(1), 0.05}, 1)
		deepest := 0
		for i := range 400 {
			most := []int{40, 3, 0, -1, 40, 40}[i%6]
			depth := c.Depth(most)
			if again := c.Depth(most); again != depth {
				t.Fatalf("asked twice: %d and %d", depth, again)
			}
			if depth < 0 || depth > 0 && (depth > most || depth > limit || depth > MaxDepth) {
				t.Fatalf("depth %d of at most %d and %d", depth, most, limit)
			}
			deepest = max(deepest, depth)
			c.Round(r.round(depth))
		}
		if want := min(max(limit, 0), MaxDepth); deepest != want {
			t.Errorf("limit %d: went to %d at most, want %d", limit, deepest, want)
		}
	}
}

// Rounds that no engine reports do not make the controller worse.
func TestAbsurdRoundsDoNoHarm(t *testing.T) {
	c := newController(15)
	for i := range 200 {
		for _, r := range []Round{{Depth: -3, Cost: ms}, {Depth: 99, Accepted: 120, Cost: ms},
			{Depth: 2, Accepted: -1, Cost: -ms}, {Depth: 1, Cost: math.MaxInt64},
			{Depth: 3, Accepted: 9, Cost: 1}} {
			c.Round(r)
		}
		c.Plain(time.Duration(i))
		if d := c.Depth(15); d < 0 || d > 15 {
			t.Fatalf("depth %d", d)
		}
	}
	if err := c.State().Check(); err != nil {
		t.Error(err)
	}
}

// A drafter that proposes in few rounds is not blamed for the others.
func TestDrafterThatProposesSeldomIsStillAsked(t *testing.T) {
	c := newController(8)
	r := newRun(world{"", 8, linear(0.2, 0.1), always(0.9), 0.05}, 1)
	asked, drafted := 0, 0
	for i := range 3000 {
		if depth := c.Depth(8); depth > 0 && i%5 == 0 {
			c.Round(r.round(depth))
			drafted++
		} else {
			c.Plain(r.round(0).Cost)
		}
		if i%5 == 0 {
			asked++
		}
	}
	if drafted < asked*9/10 {
		t.Errorf("the drafter proposed in %d of %d rounds in which it could", drafted, asked)
	}
}

func TestStateSurvivesJSON(t *testing.T) {
	c := newController(15)
	r := newRun(world{"", 15, linear(0.3, 0.1), always(0.8), 0.05}, 1)
	r.control(c, 2000)
	data, err := json.Marshal(c.State())
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	warm := newController(15)
	if err := warm.Restore(s); err != nil {
		t.Fatal(err)
	}
	got := warm.State()
	if want := (State{s.Costs[1:], s.Rates, s.Signs}); !reflect.DeepEqual(got, want) {
		t.Errorf("restored %+v, want %+v", got, want)
	}
	for range settling + 1 {
		warm.Plain(plainStep)
	}
	if got, want := warm.Depth(15), c.chosen; got < want-2 || got > want+2 {
		t.Errorf("a warm start chooses %d, before it was %d", got, want)
	}
}

func TestInvalidStatesAreRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cost := func(c ...Cost) State { return State{Costs: c} }
	rates := func(r ...Rate) State { return State{Rates: r} }
	sign := func(mean, first, later float64) State {
		return State{Signs: []Sign{{"match", mean, first, later}}}
	}
	for name, s := range map[string]State{
		"cost NaN":         cost(Cost{0, nan, 1}),
		"cost infinite":    cost(Cost{0, inf, 1}),
		"cost zero":        cost(Cost{0, 0, 1}),
		"cost negative":    cost(Cost{0, -1, 1}),
		"cost of a day":    cost(Cost{0, 86400, 1}),
		"samples negative": cost(Cost{0, 1, -1}),
		"depth negative":   cost(Cost{-1, 1, 1}),
		"depth huge":       cost(Cost{MaxDepth + 1, 1, 1}),
		"depth twice":      cost(Cost{1, 1, 1}, Cost{1, 1, 1}),
		"depth descends":   cost(Cost{2, 1, 1}, Cost{1, 1, 1}),
		"rate NaN":         rates(Rate{nan, 1}),
		"rate above 1":     rates(Rate{1.01, 1}),
		"rate negative":    rates(Rate{-0.01, 1}),
		"rate unsampled":   rates(Rate{0.5, -1}),
		"many positions":   rates(make([]Rate, MaxDepth+1)...),
		"mean NaN":         sign(nan, 0, 0),
		"mean above 1":     sign(1.1, 0, 0),
		"weight NaN":       sign(0, nan, 0),
		"weight infinite":  sign(0, 0, inf),
		"weight huge":      sign(0, -maxWeight-1, 0),
		"many signs":       {Signs: make([]Sign, maxSigns+1)},
	} {
		c := newController(15)
		before := *c
		if err := c.Restore(s); err == nil {
			t.Errorf("%s: the state was accepted", name)
		} else if *c != before {
			t.Errorf("%s: the state was refused, but the controller changed", name)
		}
	}
}

// A valid state with wrong figures costs no more than a cold start.
func TestMisleadingStateCostsNoMoreThanAColdStart(t *testing.T) {
	w := world{"", 15, linear(0.5, 0.2), always(0.02), 0.05}
	good := make([]Rate, 15)
	for i := range good {
		good[i] = Rate{1, math.MaxInt}
	}
	for name, s := range map[string]State{
		"drafts are free":  {Costs: []Cost{{0, 0.01, 1 << 40}, {15, 1e-9, 1 << 40}}, Rates: good},
		"plain is dear":    {Costs: []Cost{{0, 600, 9}, {1, 600, 9}, {15, 600, 9}}, Rates: good},
		"plain is free":    {Costs: []Cost{{0, 1e-9, 9}, {1, 1, 9}}, Rates: good},
		"all are accepted": {Costs: []Cost{{0, 0.01, 9}, {1, 0.015, 9}, {8, 0.02, 9}}, Rates: good},
		"no plain":         {Costs: []Cost{{3, 0.01, 9}}, Rates: good},
	} {
		ratio := average(func(seed uint64) float64 {
			c := newController(15)
			if err := c.Restore(s); err != nil {
				t.Fatal(err)
			}
			r := newRun(w, seed)
			r.control(c, 1000)
			return w.fixed(0) / r.perToken()
		})
		t.Logf("%s: %.3f of plain's speed", name, ratio)
		if ratio < 0.97 {
			t.Errorf("%s: %.3f of plain's speed", name, ratio)
		}
	}
}

func TestBucketOfAContext(t *testing.T) {
	for n, want := range map[int]int{-1: 1024, 0: 1024, 1: 1024, 1024: 1024, 1025: 2048,
		262144: 262144, 1 << 30: 262144} {
		if got := Bucket(n); got != want {
			t.Errorf("Bucket(%d) = %d, want %d", n, got, want)
		}
	}
}

// Depth returns how many drafts the next round should ask for, at most max; 0 is a plain round. It
// changes nothing: asking again gives the same answer.
func (c *controller) Depth(max int) int {
	return c.plan(max, 0, even)
}

// Plain records a plain round, which emitted one token.
func (c *controller) Plain(cost time.Duration) {
	c.plain(cost)
	c.budget.earn(1, c.pays())
}
