package models_test

import (
	"fmt"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/sample"
)

// Under the coupled rule, one seed gives the ids of plain decoding, for any drafter, depth and
// rollback. Each round waits for the device once. Prompt and answer together are longer than the
// ring.
func TestOneSeedGivesOneAnswerByAnyDrafter(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	accepted := map[string]int{} // drafts, by drafter and for adaptive depth
	for _, of := range shapes {
		for _, layout := range of.layouts {
			l := newLossless(t, of.shape, layout, twoLayers)
			l.drafter.Wrong = func(round, n int) int { return round % (n + 1) }
			c := l.cast()
			for _, d := range append([]draft.Drafter{l.drafter}, c.drafters...) {
				// How tokens are drawn and how drafts are undone do not meet, so each runs once.
				l.sameSeed(c, d, 0.8, engine.Trim, accepted)
				l.sameSeed(c, d, 1, engine.Undo, accepted)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			l.Close()
		}
	}
	t.Log("accepted drafts:", accepted)
	// How often adaptive depth drafts depends on the clock.
	if accepted["adaptive"] == 0 {
		t.Error("no draft was accepted at adaptive depth")
	}
}

// sameSeed decodes with one drafter, at its depths. It adds up the accepted drafts.
func (l *lossless) sameSeed(c *cast, d draft.Drafter, temperature float64,
	rollback engine.Rollback, accepted map[string]int) {
	l.t.Helper()
	e := l.engine(nil, append([]draft.Drafter{l.drafter}, c.drafters...)...)
	defer e.Close()
	r := engine.Request{MaxTokens: new(48), IgnoreEOS: true, Seed: new(uint64(7)),
		Sampling: sample.Params{Temperature: temperature}}
	for i := range 25 {
		r.Prompt = append(r.Prompt, int32(i*i%90))
	}
	r = suit(r, d)
	r.Speculation.Drafter = engine.None
	want := l.sayOn(e, r, 0).ids
	l.drafter.Text = slices.Concat(r.Prompt, want)
	_, joins := d.(*draft.Continued)
	const adaptive = -1 // the request leaves the depth to the engine
	for _, depth := range []int{adaptive, 0, 1, 8, 15, 16} {
		if depth > d.MaxDrafts() || depth == 0 && d != draft.Drafter(l.drafter) {
			continue // without drafts all drafters are the same
		}
		if depth == 1 && joins {
			continue // a known token and one after it are two
		}
		c.giveAnswer(&r, d, want)
		r.Speculation = engine.Speculation{Drafter: d.Name(), Rollback: rollback}
		if depth != adaptive {
			r.Speculation.Depth = &depth
		}
		said := l.sayOn(e, r, 0)
		r.Texts.Close()
		what := fmt.Sprintf("%s, %s, temperature %g, %s, depth %d, %s", l.shape, l.layout,
			temperature, d.Name(), depth, rollback)
		if !slices.Equal(said.ids, want) {
			l.t.Errorf("%s: %v, want %v", what, said.ids, want)
		}
		st := said.stats
		if st.Drafted > 0 && st.Drafter != d.Name() {
			l.t.Errorf("%s: %q drafted", what, st.Drafter)
		}
		if depth > 0 && (st.Accepted == 0 || st.Accepted == st.Drafted) {
			l.t.Errorf("%s: %d of %d drafts were accepted, want some but not all (%s)", what,
				st.Accepted, st.Drafted, st.NoDrafter)
		}
		if st.Syncs > st.Rounds+1 { // one for the prompt's token
			l.t.Errorf("%s: %d syncs in %d rounds", what, st.Syncs, st.Rounds)
		}
		accepted[d.Name()] += st.Accepted
		if depth == adaptive {
			accepted["adaptive"] += st.Accepted
		}
	}
}
