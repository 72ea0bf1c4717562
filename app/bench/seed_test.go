package bench

import (
	"fmt"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/sample"
)

// TestOneSeedGivesOneAnswerByAnyDrafter decodes with one seed under the coupled rule: the ids are those
// of plain decoding, whoever drafts, how far, and however drafts are undone, and
// each round waits for the device once. Prompt and answer go around the ring.
func TestOneSeedGivesOneAnswerByAnyDrafter(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	stood := map[string]int{} // drafts by drafter, and where the depth was left open
	for _, of := range shapes {
		for _, layout := range of.layouts {
			l := newLossless(t, of.shape, layout, twoLayers)
			l.drafter.Wrong = func(round, n int) int { return round % (n + 1) }
			c := l.cast()
			for _, d := range append([]draft.Drafter{l.drafter}, c.drafters...) {
				for _, temperature := range []float64{0.8, 1} {
					l.sameSeed(c, d, temperature, stood)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			l.Close()
		}
	}
	t.Log("drafts that stood:", stood)
	// How often the engine drafts by itself depends on the clock.
	if stood["adaptive"] == 0 {
		t.Error("no draft stood where the engine chose how many")
	}
}

// sameSeed decodes by one drafter, at every depth.
func (l *lossless) sameSeed(c *cast, d draft.Drafter, temperature float64, stood map[string]int) {
	l.t.Helper()
	e := l.engine(nil, append([]draft.Drafter{l.drafter}, c.drafters...)...)
	defer e.Close()
	r := engine.Request{MaxTokens: new(48), IgnoreEOS: true, Seed: new(uint64(7)), Sampling: sample.Params{Temperature: temperature}}
	for i := range 25 {
		r.Prompt = append(r.Prompt, int32(i*i%90))
	}
	r = suit(r, d)
	r.Speculation.Drafter = engine.None
	want := l.sayOn(e, r, 0).ids
	l.drafter.Text = slices.Concat(r.Prompt, want)
	c.tell(&r, d, want)
	for _, depth := range []int{adaptive, 0, 1, 3, 8, 15, 16} {
		if depth > d.MaxDrafts() {
			continue
		}
		for _, rollback := range []engine.Rollback{engine.Trim, engine.Undo} {
			r.Speculation = engine.Speculation{Drafter: d.Name(), Rollback: rollback}
			if depth != adaptive {
				r.Speculation.Depth = &depth
			}
			said := l.sayOn(e, r, 0)
			what := fmt.Sprintf("%s, %s, temperature %g, %s, depth %d, %s", l.shape, l.layout, temperature, d.Name(), depth, rollback)
			if !slices.Equal(said.ids, want) {
				l.t.Errorf("%s: %v, want %v", what, said.ids, want)
			}
			st := said.stats
			if st.Drafted > 0 && st.Drafter != d.Name() {
				l.t.Errorf("%s: %q drafted", what, st.Drafter)
			}
			if depth > 0 && (st.Accepted == 0 || st.Accepted == st.Drafted) {
				l.t.Errorf("%s: %d of %d drafts stood; some are to, and some not (%s)", what, st.Accepted, st.Drafted, st.NoDrafter)
			}
			if st.Syncs > st.Rounds+1 { // one for the prompt's token
				l.t.Errorf("%s: %d syncs in %d rounds", what, st.Syncs, st.Rounds)
			}
			stood[d.Name()] += st.Accepted
			if depth == adaptive {
				stood["adaptive"] += st.Accepted
			}
		}
	}
}
