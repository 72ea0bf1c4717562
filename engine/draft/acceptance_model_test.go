package draft

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Proposals after long matches are accepted, others are not. The means are the same for both; the
// the signals separate them, in a restored controller too.
func TestSurvivalLearnsWhatTellsGoodProposals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	c := newController(15)
	for range 3000 {
		var x acceptanceSignals
		x[byRecent] = rng.Float64() // says nothing
		accepted := 0
		if rng.IntN(2) == 0 {
			x[byMatch] = 1
			for accepted < 4 && rng.Float64() < 0.9 {
				accepted++
			}
		} else if rng.Float64() < 0.2 {
			accepted = 1
		}
		c.rates.learn(x, 4, accepted)
	}
	again := newController(15)
	if err := again.Restore(c.State()); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]*controller{"learned": c, "restored": again} {
		of := func(match, recent float64) float64 {
			x := acceptanceSignals{byMatch: match, byRecent: recent}
			return v.rates.expected(v.rates.model.oddsRatio(x))[1] - 1
		}
		if long, short := of(1, 0.5), of(0, 0.5); math.Abs(long-0.9) > 0.08 || math.Abs(short-0.2) > 0.08 {
			t.Errorf("%s: the first draft is accepted at %.2f and %.2f, want 0.9 and 0.2",
				name, long, short)
		}
		if a, b := of(1, 0), of(1, 1); math.Abs(a-b) > 0.1 {
			t.Errorf("%s: %.2f and %.2f by a number that says nothing", name, a, b)
		}
	}
	// A state of an earlier version has no signs.
	if err := again.Restore(State{Rates: []Rate{{0.5, 20}}}); err != nil {
		t.Fatal(err)
	}
	if o := again.rates.model.oddsRatio(acceptanceSignals{byMatch: 1}); o != even {
		t.Errorf("with nothing known of outlooks the odds are %v times the mean", o)
	}
}

// What a preview that was not drafted would have given is learned once it is decided.
func TestSelectorLearnsOfPreviewsThatWereNotDrafted(t *testing.T) {
	s := NewSelector("m", []Arm{{Name: "ngram", Limit: 31}}, nil)
	c := s.NewRecentAcceptance()
	text := []int32{1, 2, 3}
	next := func(preview ...int32) rate {
		t.Helper()
		if _, err := s.Next(c, text, []Candidate{{Limit: len(preview), Preview: preview}}); err != nil {
			t.Fatal(err)
		}
		return s.buckets[1024][0].rates.rates[0]
	}
	next(4, 5, 6)
	text = append(text, 4)
	if r := next(5, 6); r.samples != 0 {
		t.Errorf("a preview that is right so far counts already: %+v", r)
	}
	text = append(text, 9)
	if r := next(7); r.samples != 1 || r.mean != 1 {
		t.Errorf("a preview whose first token came: %+v", r)
	}
	if r := s.buckets[1024][0].rates.rates[1]; r.samples != 1 || r.mean != 0 {
		t.Errorf("and its second one did not: %+v", r)
	}
	c.Record(0, Round{Depth: 1, Accepted: 0}) // it was drafted: the selector learns from the round
	text = append(text, 8)
	if r := next(); r.samples != 1 {
		t.Errorf("a preview that was drafted is counted twice: %+v", r)
	}
}
