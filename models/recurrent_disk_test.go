package models_test

import (
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
)

// An engine continues a text from the disk that it has not seen. The states of recurrent layers
// come back with the rows of the other layers. No bit of the continuation differs.
func TestRecurrentStateComesBackFromDiskToTheBit(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	l := newLossless(t, "qwen3_5", cache.Ring, twoLayers)
	defer l.Close()
	dir := t.TempDir()
	var store *checkpoint.Store
	open := func() *engine.Engine {
		store = checkpoint.NewStore(checkpoint.StoreOptions{Dir: dir, Key: "a", Budget: 1 << 30})
		return engine.New(l.th, l.model, l.bundle.Tokenizer, engine.Options{
			Layout: l.layout, Chunk: 32, Checkpoints: 1 << 30, Store: store,
			Drafters: []draft.Drafter{l.drafter},
		})
	}
	r := engine.Request{Prompt: l.prompt(20, 1), MaxTokens: new(200), IgnoreEOS: true,
		Seed: new(uint64(1))}
	r.Speculation = engine.Speculation{Drafter: engine.None}
	e := open()
	whole := l.sayOn(e, r, 0)
	enginetest.Await(t, "the checkpoints are written", func() bool { return !store.Busy() })
	e.Close()

	e = open()
	defer e.Close()
	at := 180
	r.Prompt, r.MaxTokens = slices.Concat(r.Prompt, whole.ids[:at]), new(20)
	got := l.sayOn(e, r, 0)
	d, all := bits(got.logits, whole.logits[at:])
	t.Logf("%d tokens matched, %d restored; %d of %d logits differ", got.stats.Matched,
		got.stats.CachedTokens, d, all)
	if got.stats.CachedTokens < 64 || d > 0 || !slices.Equal(got.ids, whole.ids[at:]) {
		t.Errorf("ids %v, want %v; %s", got.ids, whole.ids[at:], got.stats.Miss)
	}
}
