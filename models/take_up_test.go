package models_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/checkpoint"
	"tandem/engine/enginetest"
	"tandem/engine/sample"
)

// takeUp generates the text of a request on an engine with checkpoints, and continues it from cuts
// random places: the first half of them from memory, the others from disk. It returns how many
// tokens were restored, how many logits differ, and how many were compared.
func (l *lossless) takeUp(r engine.Request, cuts int, exact bool) (restored, differ, all int) {
	rng := rand.New(rand.NewPCG(3, uint64(len(r.Prompt))))
	var store *checkpoint.Store
	var e *engine.Engine
	dir := l.t.TempDir()
	open := func() {
		store = checkpoint.NewStore(checkpoint.StoreOptions{Dir: dir, Key: "tiny", Budget: 1 << 30})
		e = l.engine(store)
	}
	closed := func() {
		e.Close()
		store.Close()
	}
	open()
	defer func() { closed() }()
	r.MaxTokens = new(l.length)
	whole := l.plain(fmt.Sprint("text ", r.Sampling.Temperature), r, 0)
	text := slices.Concat(r.Prompt, whole.ids)
	ways := func() engine.Speculation {
		if rng.IntN(3) == 0 {
			return engine.Speculation{Drafter: engine.None}
		}
		return engine.Speculation{Depth: new(1 + rng.IntN(15)),
			Rollback: []engine.Rollback{engine.Trim, engine.Undo}[rng.IntN(2)]}
	}
	l.drafter.Wrong = func(_, n int) int { return rng.IntN(n + 1) }
	defer func() { l.drafter.Wrong = nil }()
	check := func(what string, got, want saying) {
		d, a := bits(got.logits, want.logits)
		differ, all = differ+d, all+a
		restored += got.stats.CachedTokens
		if exact && (d > 0 || !slices.Equal(got.ids, want.ids) ||
			got.stats.CachedTokens < got.stats.Matched-64) {
			l.t.Errorf("%s: %d of %d logits differ; %d tokens matched, %d restored; ids %v, want %v",
				what, d, a, got.stats.Matched, got.stats.CachedTokens, got.ids, want.ids)
		}
	}
	r.Speculation = ways()
	check("the text", l.sayOn(e, r, 0), whole)
	for i := range cuts {
		if i == cuts/2 { // from here on texts come from the disk
			closed()
			open()
		}
		at := 1 + rng.IntN(l.length-20)
		n := 1 + rng.IntN(20)
		r := r
		r.Prompt, r.MaxTokens, r.Speculation = text[:len(whole.ids[:at])+len(r.Prompt)], new(n),
			ways()
		want := saying{ids: whole.ids[at : at+n], logits: whole.logits[at : at+n]}
		if i%5 == 0 { // a branch: no earlier text goes on like it
			r.Prompt = append(slices.Clone(r.Prompt), l.prompt(1+rng.IntN(40), i)...)
			script := l.drafter.Text
			want = l.plain(fmt.Sprint("branch ", r.Sampling.Temperature, i), r, 0)
			check(fmt.Sprintf("a branch at %d", at), l.sayOn(e, r, 0), want)
			l.drafter.Text = script
			continue
		}
		check(fmt.Sprintf("the text from %d on", at), l.sayOn(e, r, 0), want)
	}
	return restored, differ, all
}

// Texts are continued from random places: with and without drafts, greedy and sampled, after
// branches, and after a restart. In the bit tier, all ids and every bit of every logit equal those
// of the text that was written in one go. Under OpenBLAS the same test must find differing bits.
func TestRestoredTextContinuesToTheBit(t *testing.T) {
	const cuts = 15 // of each text
	bit := enginetest.Bit(t)
	places, restored, differ, all := 0, 0, 0, 0
	for _, of := range shapes {
		shape := of.shape
		for _, layout := range of.layouts {
			l := newLossless(t, shape, layout, twoLayers)
			for i, params := range []sample.Params{{},
				{Temperature: 0.8, TopP: 0.95, RepetitionPenalty: 1.1}} {
				t.Logf("%s, %s, temperature %g", shape, layout, params.Temperature)
				n, d, a := l.takeUp(engine.Request{Prompt: l.prompt(20, i), Sampling: params,
					Seed: new(uint64(i)), IgnoreEOS: true}, cuts, bit)
				places, restored, differ, all = places+cuts, restored+n, differ+d, all+a
			}
			l.Close()
		}
	}
	t.Logf("%d places, %d tokens restored, %d of %d logits differ", places, restored, differ, all)
	if bit && differ > 0 {
		t.Errorf("%d of %d logits differ in the bit tier", differ, all)
	}
	if !bit && differ == 0 {
		t.Error("no logit differs under OpenBLAS, so the test compares nothing")
	}
}
