package models_test

import (
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/restore"
	"tandem/engine/sample"
	"tandem/models"
)

// openRestored loads a tiny model whose layers are bounded, with what an f_theta restores of its
// drafter's layers. The drafter slides in one of them. The caller closes it.
func openRestored(t *testing.T, shape string) (l *lossless, close func()) {
	t.Helper()
	l = newLossless(t, shape, cache.Ring, nil)
	l.length, l.ringless, l.steady = 120, true, true
	d, err := models.LoadDrafter(t.Context(), l.bundle,
		enginetest.TinyDrafter(t, map[string]any{"num_hidden_layers": 3,
			"layer_types": []string{"sliding_attention", "full_attention", "full_attention"}}),
		models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := models.LoadFTheta(t.Context(), l.bundle, d, enginetest.TinyFTheta(t,
		map[string]any{"drafter_num_layers": 3, "exact_layers": []int{1}, "sink_size": 2,
			"window_size": 9}), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := restore.New(l.bundle.Model, restore.Options{Sink: *f.Config.SinkSize,
		Window: *f.Config.WindowSize, Exact: f.Config.ExactLayers, Source: restore.FTheta(f.Stack, f.Projection)})
	if err != nil {
		t.Fatal(err)
	}
	l.model.Model = m
	return l, func() {
		for _, c := range []interface{ Close() error }{f, d} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		l.Close()
	}
}

// A model whose rows are restored decodes with right and wrong drafts as it does without, to the
// bit. Its answers end as without drafts, on each row of a block, by the client too.
func TestRestoredModelDecodesWithDraftsToTheBit(t *testing.T) {
	for _, shape := range []string{"qwen3", "gemma3_text"} {
		t.Run(shape, func(t *testing.T) {
			if !enginetest.Bit(t) {
				return
			}
			l, done := openRestored(t, shape)
			defer done()
			for _, c := range []cell{{shape, l.layout, engine.Trim, 3},
				{shape, l.layout, engine.Trim, 15}, {shape, l.layout, engine.Undo, 7}} {
				differ, all := l.long(c, 1, true)
				if differ > 0 || all == 0 {
					t.Errorf("%s: %d of %d logits differ", c, differ, all)
				}
				if c.depth == 3 {
					l.ends(c)
				}
			}
		})
	}
}

// A text goes on from random places to the bit, from memory and from disk.
func TestRestoredModelRestoresToTheBit(t *testing.T) {
	for _, shape := range []string{"qwen3", "gemma3_text"} {
		t.Run(shape, func(t *testing.T) {
			if !enginetest.Bit(t) {
				return
			}
			l, done := openRestored(t, shape)
			defer done()
			r := engine.Request{Prompt: l.prompt(20, 1), Seed: new(uint64(1)), IgnoreEOS: true,
				Sampling: sample.Params{Temperature: 0.8, TopP: 0.95, RepetitionPenalty: 1.1}}
			restored, differ, all := l.takeUp(r, 6, true)
			if differ > 0 || all == 0 || restored == 0 {
				t.Errorf("%d tokens restored, %d of %d logits differ", restored, differ, all)
			}
		})
	}
}

// Exact requests give the same bits at every depth where results depend on the number of rows, as on a
// GPU.
func TestExactRequestsOnARestoredModel(t *testing.T) {
	for _, shape := range []string{"qwen3", "gemma3_text"} { // the second one has banks that are rings
		t.Run(shape, func(t *testing.T) { exactOnARestoredModel(t, shape) })
	}
}

func exactOnARestoredModel(t *testing.T, shape string) {
	l, done := openRestored(t, shape)
	defer done()
	r := engine.Request{Prompt: l.prompt(60, 1), MaxTokens: new(40), IgnoreEOS: true,
		Seed: new(uint64(1)), Speculation: engine.Speculation{Drafter: engine.None, Exact: true}}
	want := l.say(r, 0)
	l.drafter.Text = slices.Concat(r.Prompt, want.ids)
	for _, depth := range []int{1, 7} {
		l.drafter.Wrong = func(round, n int) int { return round * 5 % (n + 1) }
		r.Speculation = engine.Speculation{Depth: &depth, Exact: true}
		got := l.say(r, 0)
		d, all := bits(got.logits, want.logits)
		if d > 0 || all == 0 || !slices.Equal(got.ids, want.ids) || got.stats.Accepted == 0 {
			t.Errorf("%d drafts: %d of %d logits differ, %d accepted; ids %v, want %v", depth, d, all,
				got.stats.Accepted, got.ids, want.ids)
		}
	}
}
