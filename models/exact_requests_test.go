package models_test

import (
	"fmt"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/sample"
)

// wideHeads makes heads as wide as those of real models. With narrow heads, attention does not
// depend on what comes with a row.
var wideHeads = map[string]any{
	"num_hidden_layers": 2, "sliding_window_pattern": 2, "query_pre_attn_scalar": 64,
	"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64,
}

// Exact requests are compared where results depend on the number of rows, as on a GPU. For any depth and rollback, no bit of a logit may differ from decoding without drafts.
// The same requests without Exact must differ, otherwise the test compares nothing.
func TestExactRequestsEqualPlainDecodingToTheBit(t *testing.T) {
	for _, of := range shapes {
		shape := of.shape
		for _, layout := range of.layouts {
			l := newLossless(t, shape, layout, wideHeads)
			for _, exact := range []bool{true, false} {
				differ, all := 0, 0
				for i, prompt := range []int{5, 60, 500} { // the window is 16
					r := engine.Request{Prompt: l.prompt(prompt, i), MaxTokens: new(90),
						IgnoreEOS: true, Seed: new(uint64(i))}
					if i == 1 {
						r.Sampling = sample.Params{Temperature: 0.8, TopP: 0.95,
							RepetitionPenalty: 1.1}
					}
					r.Speculation = engine.Speculation{Drafter: engine.None, Exact: exact}
					want := l.say(r, 0)
					if want.stats.Syncs != 90 {
						t.Errorf("%s, %s, exact %v: %d syncs for 90 tokens", shape, layout, exact,
							want.stats.Syncs)
					}
					l.drafter.Text = slices.Concat(r.Prompt, want.ids)
					depths := []int{0, 1, 7}
					if !exact {
						depths = []int{7} // one is enough to differ
					}
					for _, depth := range depths {
						for _, rollback := range []engine.Rollback{engine.Trim, engine.Undo} {
							if depth == 0 && rollback == engine.Undo {
								continue // nothing is taken back
							}
							l.drafter.Wrong = func(round, n int) int { return round * 5 % (n + 1) }
							r.Speculation = engine.Speculation{Depth: &depth, Rollback: rollback,
								Exact: exact}
							got := l.say(r, 0)
							d, a := bits(got.logits, want.logits)
							differ, all = differ+d, all+a
							what := fmt.Sprintf("%s, %s, %s, %d drafts, exact %v", shape, layout,
								rollback, depth, exact)
							if !slices.Equal(got.ids, want.ids) || exact && d > 0 {
								t.Errorf("%s: %d of %d logits differ; ids %v, want %v", what, d, a,
									got.ids, want.ids)
							}
							if (got.stats.Accepted == 0) != (depth == 0) {
								t.Errorf("%s: %d drafts were accepted", what, got.stats.Accepted)
							}
						}
					}
				}
				t.Logf("%s, %s, exact %v: %d of %d logits differ", shape, layout, exact, differ,
					all)
				if !exact && differ == 0 {
					t.Errorf("%s, %s: no logit differs without Exact, so the test compares nothing",
						shape, layout)
				}
			}
			l.Close()
		}
	}
}
