package engine

import (
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
)

// A boundedChain is a chain that says its caches were those of bounded layers.
type boundedChain struct {
	*enginetest.Chain
	bytes func() // called before the answer
}

func (m boundedChain) Bytes(caches []cache.Cache) (sum lm.KVBytes) {
	m.bytes()
	for _, c := range caches {
		sum.Window += c.Bytes()
	}
	return sum
}

// TestStatsHaveWhatTheCachesHeld asks a model whose layers are bounded, and any other. A panic of the
// first is no request's: the measure is taken when the answer is complete, and the next request works.
func TestStatsHaveWhatTheCachesHeld(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(50), Options{})
	ask := func() (stats Stats) {
		t.Helper()
		n := 0
		for _, err := range f.Generate(t.Context(), Request{Prompt: counting(0, 10), MaxTokens: new(8),
			IgnoreEOS: true, Fresh: true, Done: func(s Stats) { stats = s }}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 8 {
			t.Errorf("%d tokens, not 8", n)
		}
		return stats
	}
	plain := ask()
	if plain.KVExact == 0 || plain.KVWindow != 0 || plain.KVRestored != 0 {
		t.Errorf("a plain model: %+v", plain)
	}
	panics := false
	f.scheduler.runner.model = boundedChain{f.chain, func() {
		if panics {
			panic("no bytes")
		}
	}}
	if got := ask(); got.KVExact != 0 || got.KVWindow != plain.KVExact {
		t.Errorf("bounded layers hold %d bytes, and others %d, not %d and 0", got.KVWindow, got.KVExact,
			plain.KVExact)
	}
	panics = true
	if got := ask(); got.KVWindow != 0 {
		t.Errorf("after a panic: %d bytes", got.KVWindow)
	}
	panics = false
	if got := ask(); got.KVWindow != plain.KVExact {
		t.Errorf("after a request with a panic: %d bytes", got.KVWindow)
	}
}
