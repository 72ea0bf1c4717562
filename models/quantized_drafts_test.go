package models_test

import (
	"fmt"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/sample"
)

// quantizedFamilies are recorded models with keys and values of a few bits. Their caches hold rows
// alone, rows beside rings, rows with sinks, keys that layers share, and rows beside the states of
// recurrent layers. The default tier leaves out families whose other tests take long.
var quantizedFamilies = []struct {
	name   string
	kvBits int
	long   bool
}{
	{"qwen3", 8, false}, {"qwen3", 4, false}, {"gpt-oss", 4, false},
	{"gemma3", 8, true}, {"gemma4-e", 4, true}, {"qwen3-next-moe", 8, true},
}

// With quantized keys and values, drafts and restored texts and neighbours change no bit either: each
// query attends the rows as they are stored, its own too.
func TestQuantizedKeysDecodeAndRestoreToTheBit(t *testing.T) {
	for _, f := range quantizedFamilies {
		if f.long && !enginetest.Long {
			continue
		}
		t.Run(fmt.Sprintf("%s-%d", f.name, f.kvBits), func(t *testing.T) {
			if !enginetest.Bit(t) {
				return
			}
			l := openLosslessIn(t, recordedFolder(t, f.name), f.name, cache.Ring)
			defer l.Close()
			l.steady, l.ringless, l.length = true, !l.hasRings(), 120
			r := engine.Request{Prompt: l.prompt(40, 1), Seed: new(uint64(1)), IgnoreEOS: true,
				MaxTokens: new(20), Speculation: engine.Speculation{Drafter: engine.None}}
			exact := l.say(r, 0)
			l.kvBits = f.kvBits
			if got := l.say(r, 0); slices.Equal(got.logits[0], exact.logits[0]) {
				t.Error("keys of a few bits give the same logits, so the test compares nothing new")
			}
			of := l.cast()
			defer of.Close()
			for _, rollback := range []engine.Rollback{engine.Trim, engine.Undo} {
				c := cell{l.shape, l.layout, rollback, 3}
				n, m := l.long(c, 1, true)
				d, a := l.each(c, of)
				if n+d > 0 || m == 0 || a == 0 {
					t.Errorf("%s: %d of %d logits differ", c, n+d, m+a)
				}
			}
			r.Sampling = sample.Params{Temperature: 0.8, TopP: 0.95, RepetitionPenalty: 1.1}
			r.Prompt = l.prompt(20, 1)
			restored, differ, all := l.takeUp(r, 6, true)
			if differ > 0 || all == 0 || restored == 0 {
				t.Errorf("%d tokens restored; %d of %d logits differ", restored, differ, all)
			}
			l.share()
		})
	}
}
