package draft

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A duel is a text in which an n-gram drafter has a match now and then, beside
// a drafter that always proposes.
type duel struct {
	name  string
	match float64                 // share of the text with a match
	ngram func(token int) float64 // rates of acceptance
	model func(token int) float64
}

// play decodes n tokens. It returns the time and the rounds of each arm, with plain rounds last.
func (d duel) play(seed uint64, n int, next func([]int) Choice, round func(Choice, Round),
	plain func(Choice, time.Duration)) (clock time.Duration, rounds [3]int) {
	rng := rand.New(rand.NewPCG(seed, 7))
	for tokens := 0; tokens < n; {
		limits := []int{0, 15}
		// Matches come in passages of 50 tokens.
		if float64(tokens/50*37%100) < 100*d.match {
			limits[0] = 1 + rng.IntN(20)
		}
		c := next(limits)
		steps, rate := 1.0, 0.0
		switch c.Arm {
		case 0:
			steps, rate = 1.1+0.08*float64(c.Depth), d.ngram(tokens) // the steps of verifying
		case 1:
			steps, rate = 1.5+0.1*float64(c.Depth), d.model(tokens) // the steps of verifying and drafting
		}
		cost := time.Duration(steps * (1 + 0.08*rng.NormFloat64()) * float64(plainStep))
		accepted := 0
		for accepted < c.Depth && rng.Float64() < rate {
			accepted++
		}
		clock += cost
		tokens += accepted + 1
		if c.Arm >= 0 {
			rounds[c.Arm]++
			round(c, Round{Depth: c.Depth, Accepted: accepted, Cost: cost})
		} else {
			rounds[2]++
			plain(c, cost)
		}
	}
	return clock, rounds
}

// fixed returns the time with one drafter at one depth wherever it proposes. Elsewhere the other
// drafter proposes, or a round is plain.
func (d duel) fixed(n int, ngram, model int) time.Duration {
	clock, _ := d.play(1, n, func(limits []int) Choice {
		switch {
		case limits[0] > 0 && ngram > 0:
			return Choice{Arm: 0, Depth: min(limits[0], ngram)}
		case model > 0:
			return Choice{Arm: 1, Depth: model}
		}
		return Choice{Arm: -1}
	}, func(Choice, Round) {}, func(Choice, time.Duration) {})
	return clock
}

func TestSelectorIsNearTheBestFixedChoice(t *testing.T) {
	always := func(p float64) func(int) float64 { return func(int) float64 { return p } }
	for _, d := range []duel{
		{"both fail", 0.5, always(0.02), always(0.05)},
		{"only the model is right", 0.5, always(0.05), always(0.8)},
		{"only matches are right", 0.5, always(0.9), always(0.05)},
		{"matches are better", 0.4, always(0.95), always(0.6)},
		{"matches are worse", 0.6, always(0.5), always(0.85)},
		{"never a match", 0, always(0), always(0.7)},
	} {
		const n = 6000
		best := d.fixed(n, 0, 0)
		plain := best
		for _, ngram := range []int{0, 1, 2, 4, 6, 8, 10, 12, 15} {
			for _, model := range []int{0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15} {
				best = min(best, d.fixed(n, ngram, model))
			}
		}
		var rounds [3]int
		ratio := average(func(seed uint64) float64 {
			s := NewSelector("m", []Arm{{Name: "ngram", Limit: 31}, {Name: "dflash", Limit: 15}},
				nil)
			next := func(limits []int) Choice {
				c, err := next(s, 100, limits)
				if err != nil {
					t.Fatal(err)
				}
				if c.Arm >= 0 && (c.Depth < 1 || c.Depth > limits[c.Arm]) {
					t.Fatalf("%+v of limits %v", c, limits)
				}
				return c
			}
			d.play(seed+100, n, next, s.Round, s.Plain)
			var clock time.Duration
			clock, rounds = d.play(seed, n, next, s.Round, s.Plain)
			return best.Seconds() / clock.Seconds()
		})
		t.Logf("%-25s the best fixed pair is %.2f times as fast as plain; %.3f of that; rounds of ngram, model, plain %v",
			d.name, plain.Seconds()/best.Seconds(), ratio, rounds)
		if ratio < 0.95 { // the best of 99 measured pairs is partly luck

			t.Errorf("%s: %.3f of the best fixed pair's speed, rounds %v", d.name, ratio, rounds)
		}
	}
}

// A memory is a Store.
type memory map[Key]State

func (m memory) LoadPolicy(k Key) (*State, error) {
	s, ok := m[k]
	if !ok {
		return nil, nil
	}
	return &s, nil
}

func (m memory) SavePolicy(k Key, s State) error {
	m[k] = s
	return nil
}

func TestSelectorKeepsWhatItLearned(t *testing.T) {
	arms := []Arm{{Name: "dflash", Limit: 15}}
	w := world{"", 15, linear(0.3, 0.1), always(0.8), 0.05}
	store := memory{}
	s := NewSelector("m", arms, store)
	drive(t, s, newRun(w, 1), 500, 2000)
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	if got := store[Key{"m", "dflash", 1024}]; len(got.Costs) < 3 || len(got.Rates) < 3 {
		t.Fatalf("stored %+v", got)
	}
	again := maps.Clone(store)
	clear(store)
	if err := s.Save(); err != nil || len(store) > 0 {
		t.Errorf("with nothing learned since, %d states were stored, %v", len(store), err)
	}
	store = again
	warm := newRun(w, 2)
	drive(t, NewSelector("m", arms, store), warm, 500, 300)
	if i := slices.IndexFunc(warm.depths, func(d int) bool { return d > 0 }); i > settling+1 ||
		warm.depths[i] < 3 {
		t.Errorf("a warm start chooses %v", warm.depths)
	}
	// A request that grows out of its bucket keeps its state. A request with an unknown model does
	// not.
	grown := newRun(w, 3)
	drive(t, s, grown, 1025, 1)
	if grown.depths[0] == 0 {
		t.Error("the state of the bucket before was not taken over")
	}
	cold := newRun(w, 3)
	drive(t, NewSelector("other", arms, store), cold, 500, 1)
	if cold.depths[0] != 0 {
		t.Error("the selector drafts before plain decoding was measured")
	}
}

// Only states of drafters that learned something are stored. The quality of a prediction is never
// stored. A state that the store refused is sent again.
func TestSelectorSavesWhatDraftersLearned(t *testing.T) {
	store := memory{}
	s := NewSelector("m", []Arm{{Name: "prediction", Limit: 15, PerRequest: true},
		{Name: "ngram", Limit: 15}}, store)
	round := func(context, arm, accepted int) {
		t.Helper()
		c, err := next(s, context, []int{15, 15})
		if err != nil {
			t.Fatal(err)
		}
		if c.Arm = arm; arm < 0 {
			s.Plain(c, 10*time.Millisecond)
		} else {
			s.Round(c, Round{Depth: 4, Accepted: accepted, Cost: 15 * time.Millisecond})
		}
	}
	want := func(what string, names ...string) {
		t.Helper()
		var got []string
		for k, state := range store {
			got = append(got, fmt.Sprintf("%s %d: %d costs, %d rates",
				k.Drafter, k.Bucket, len(state.Costs), len(state.Rates)))
		}
		slices.Sort(got)
		if !slices.Equal(got, names) {
			t.Errorf("%s: %q were stored, want %q", what, got, names)
		}
	}
	round(500, -1, 0)
	if err := s.Save(); err != nil {
		t.Error(err)
	}
	want("plain rounds")
	for range 9 {
		round(500, 0, 2)
		round(500, 0, 2)
		round(500, -1, 0)
	}
	s.store = failing{}
	if err := s.Save(); err == nil {
		t.Error("a store that fails gives no error")
	}
	s.store = store
	if err := s.Save(); err != nil {
		t.Error(err)
	}
	want("rounds with drafts", "prediction 1024: 1 costs, 0 rates")
	clear(store)
	for range 9 {
		round(1500, 1, 2)
		round(1500, 1, 2)
	}
	if err := s.Save(); err != nil {
		t.Error(err)
	}
	// The next bucket begins with the state of this one.
	want("another bucket", "ngram 2048: 1 costs, 3 rates", "prediction 2048: 1 costs, 0 rates")
}

// A store may fail, or may hold a state that no controller wrote. The selector then loses the
// learned state and works on.
func TestSelectorWorksWithoutItsStore(t *testing.T) {
	arms := []Arm{{Name: "dflash", Limit: 15}}
	for name, store := range map[string]Store{
		"fails":   failing{},
		"hostile": memory{{"m", "dflash", 1024}: {Costs: []Cost{{Depth: 0, Seconds: -1}}}},
	} {
		s := NewSelector("m", arms, store)
		if c, err := next(s, 10, []int{15}); err == nil || c.Arm != -1 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
		drive(t, s, newRun(world{"", 15, linear(0.3, 0.1), always(0.8), 0}, 1), 10, 500)
	}
}

type failing struct{}

func (failing) LoadPolicy(Key) (*State, error) { return nil, errors.New("disk") }
func (failing) SavePolicy(Key, State) error    { return errors.New("disk") }

func drive(t *testing.T, s *Selector, r *run, context, n int) {
	t.Helper()
	for r.tokens < n {
		c, err := next(s, context, []int{r.limit})
		if err != nil {
			t.Fatal(err)
		}
		if out := r.round(c.Depth); c.Arm >= 0 {
			s.Round(c, out)
		} else {
			s.Plain(c, out.Cost)
		}
	}
}

// Beside others a request offers drafts that give more than its plain rounds, at a measured depth.
// It never offers a probe.
func TestSelectorAmongOffersMeasuredDrafts(t *testing.T) {
	arms := []Arm{{Name: "ngram", Limit: 31}}
	among := func(s *Selector) (Offer, bool) {
		t.Helper()
		o, ok, err := s.ChooseShared(s.NewRecentAcceptance(), make([]int32, 500), prospects([]int{31}))
		if err != nil {
			t.Fatal(err)
		}
		return o, ok
	}
	if o, ok := among(NewSelector("m", arms, nil)); ok {
		t.Errorf("with no cost known: %+v", o)
	}
	good := NewSelector("m", arms, nil)
	drive(t, good, newRun(world{"", 31, linear(0.3, 0.1), always(0.8), 0}, 1), 500, 2000)
	known := good.buckets[1024][0]
	depth, best := known.best(31, even)
	check := func(what string, s *Selector) {
		t.Helper()
		o, ok := among(s)
		if !ok {
			t.Fatalf("%s: nothing is chosen", what)
		}
		if o.Arm != 0 {
			t.Errorf("%s: o.Arm = %v, want 0", what, o.Arm)
		}
		if o.Depth != depth {
			t.Errorf("%s: o.Depth = %v, want %v", what, o.Depth, depth)
		}
		if math.Abs(o.Rate()/best-1) > 1e-9 {
			t.Errorf("%s: math.Abs(o.Rate()/best-1) = %v, want at most 1e-9",
				what, math.Abs(o.Rate()/best-1))
		}
		if o.Cost != known.curve.at(depth) {
			t.Errorf("%s: o.Cost = %v, want %v", what, o.Cost, known.curve.at(depth))
		}
	}
	check("when they pay", good)
	// This request knows the cost of rounds with drafts from an earlier launch. It is never alone,
	// so it cannot learn the cost of plain steps.
	late := NewSelector("m", arms, nil)
	if _, err := late.open(1024); err != nil {
		t.Fatal(err)
	}
	if err := late.buckets[1024][0].Restore(known.State()); err != nil {
		t.Fatal(err)
	}
	if o, ok := among(late); !ok || o.Depth == 0 {
		t.Errorf("after a launch: %+v", o)
	}
	bad := NewSelector("m", arms, nil)
	r := newRun(world{"", 31, linear(1, 0.5), always(0.05), 0}, 1)
	for probing := false; !probing; {
		drive(t, bad, r, 500, r.tokens+1)
		next, err := next(bad, 500, []int{31})
		if err != nil {
			t.Fatal(err)
		}
		probing = next.Depth > 0 && bad.buckets[1024][0].chosen == 0
	}
	if o, ok := among(bad); ok {
		t.Errorf("a probe among others: %+v", o)
	}
}

// A failed prediction does not count against the next one.
func TestSelectorRenewForgetsAFailedPrediction(t *testing.T) {
	const n = 300
	world := func(rate float64) world { return world{"", 31, linear(0.3, 0.1), always(rate), 0} }
	speed := func(renew bool) float64 {
		return average(func(seed uint64) float64 {
			s := NewSelector("m", []Arm{{Name: "prediction", Limit: 31, PerRequest: true}}, nil)
			for i, rate := range []float64{0.95, 0.02, 0.95} {
				if renew && i > 0 {
					s.Renew(0)
				}
				// Contexts of two buckets: the acceptance of a request moves with it.
				r := newRun(world(rate), seed)
				drive(t, s, r, 1000, n/2)
				drive(t, s, r, 2000, n)
				if i == 2 {
					return n * plainStep.Seconds() / r.clock.Seconds()
				}
			}
			return 0
		})
	}
	renewed, kept := speed(true), speed(false)
	t.Logf("%.2f of plain's speed, %.2f if no failure is forgotten", renewed, kept)
	if renewed < 2.5 || renewed < 1.1*kept {
		t.Errorf("%.2f of plain's speed, %.2f if no failure is forgotten", renewed, kept)
	}
}

// The acceptance of a request's prediction moves with it from bucket to bucket.
func TestSelectorKeepsOwnAcceptanceAcrossBuckets(t *testing.T) {
	s := NewSelector("m", []Arm{{Name: "prediction", Limit: 31, PerRequest: true},
		{Name: "ngram", Limit: 31}}, nil)
	next := func(context int) []*controller {
		if _, err := next(s, context, []int{31, 31}); err != nil {
			t.Fatal(err)
		}
		return s.buckets[Bucket(context)]
	}
	for _, c := range next(1000) {
		c.rates.record(4, 1)
	}
	before := next(1000)[0].rates
	if next(2000)[0].rates != before {
		t.Error("a new bucket begins without the request's acceptance")
	}
	s.Renew(0)
	if next(1000)[0].rates != (acceptance{}) || next(2000)[0].rates != (acceptance{}) ||
		next(1000)[1].rates == (acceptance{}) {
		t.Error("another request begins with the acceptance of the one before, or forgets all")
	}
	next(1000)[0].rates.record(4, 3)
	if after := next(1000)[0].rates; next(2000)[0].rates != after {
		t.Error("a bucket known from before begins without the request's acceptance")
	}
}

// Failing drafts of two drafters cost no more than the drafts of one.
func TestTwoFailingDraftersCostNoMoreThanOne(t *testing.T) {
	const n = 1000
	for _, c := range []struct {
		name         string
		match        float64
		ngram, model float64
		least        float64
	}{
		{"both propose", 1, 0.15, 0.15, 0.985},
		// A drafter that never proposes does not let the other lose more.
		{"n-grams never match", 0, 0, 0.02, 0.988},
		{"n-grams match now and then", 0.1, 0.02, 0.02, 0.988},
	} {
		d := duel{"", c.match, func(int) float64 { return c.ngram },
			func(int) float64 { return c.model }}
		ratio := average(func(seed uint64) float64 {
			s := NewSelector("m", []Arm{{Name: "ngram", Limit: 31}, {Name: "dflash", Limit: 15}},
				nil)
			clock, _ := d.play(seed, n, func(limits []int) Choice {
				c, _ := next(s, 100, limits)
				return c
			}, s.Round, s.Plain)
			return n * plainStep.Seconds() / clock.Seconds()
		})
		t.Logf("%s: %.3f of plain's speed", c.name, ratio)
		if ratio < c.least {
			t.Errorf("%s: %.3f of plain's speed", c.name, ratio)
		}
	}
	s := NewSelector("m", []Arm{{Name: "ngram", Limit: 31}, {Name: "dflash", Limit: 15}}, nil)
	for _, context := range []int{100, 5000} {
		if _, err := next(s, context, []int{1, 1}); err != nil {
			t.Fatal(err)
		}
	}
	for bucket, arms := range s.buckets {
		for i, c := range arms {
			if c.budget != s.budget {
				t.Errorf("arm %d in bucket %d has a budget of its own", i, bucket)
			}
		}
	}
}

// Both drafters beat plain decoding, and the better one changes.
func TestSelectorFollowsTheBetterDrafter(t *testing.T) {
	const stretch = 3000
	// rate returns one of two rates by stretch.
	rate := func(even, odd float64) func(int) float64 {
		return func(token int) float64 {
			if token/stretch%2 == 0 {
				return even
			}
			return odd
		}
	}
	for _, d := range []duel{
		{"both change, n-grams first", 1, rate(0.9, 0.5), rate(0.5, 0.9)},
		{"both change, the model first", 1, rate(0.5, 0.9), rate(0.9, 0.5)},
		{"n-grams change", 1, rate(0.1, 0.95), rate(0.6, 0.6)},
		{"the model changes", 1, rate(0.6, 0.6), rate(0.1, 0.95)},
	} {
		const seeds = 20
		var share [4]float64 // of the rounds, by stretch
		for seed := range uint64(seeds) {
			s := NewSelector("m", []Arm{{Name: "ngram", Limit: 31}, {Name: "dflash", Limit: 15}},
				nil)
			arms := make([][]int, 5)
			token := 0
			d.play(seed, 4*stretch, func(limits []int) Choice {
				c, err := next(s, 100, limits)
				if err != nil {
					t.Fatal(err)
				}
				arms[token/stretch] = append(arms[token/stretch], c.Arm)
				return c
			}, func(c Choice, r Round) {
				token += r.Accepted + 1
				s.Round(c, r)
			}, func(c Choice, cost time.Duration) {
				token++
				s.Plain(c, cost)
			})
			for i, list := range arms[:4] {
				list = list[len(list)*2/3:] // the selector has noticed the change by then
				better, n := 0, 0
				if d.model(i*stretch) > d.ngram(i*stretch) {
					better = 1
				}
				for _, a := range list {
					if a == better {
						n++
					}
				}
				share[i] += float64(n) / float64(len(list)) / seeds
			}
		}
		t.Logf("%s: the better drafter proposed in %.2f of the rounds, by stretch", d.name, share)
		for i, x := range share {
			if x < 0.7 {
				t.Errorf("%s, stretch %d: the better drafter proposed in %.2f of the rounds",
					d.name, i, x)
			}
		}
	}
}

// prospects are candidates of which only the limits are known.
func prospects(limits []int) []Candidate {
	list := make([]Candidate, len(limits))
	for i, n := range limits {
		list[i].Limit = n
	}
	return list
}

// next chooses a round of a request of which nothing is known but its length.
func next(s *Selector, context int, limits []int) (Choice, error) {
	return s.Next(s.NewRecentAcceptance(), make([]int32, context), prospects(limits))
}
