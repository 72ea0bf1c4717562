package engine

import (
	"iter"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
)

// A boundedChain is a chain that says its caches were those of bounded layers.
type boundedChain struct{ *enginetest.Chain }

func (boundedChain) Bytes(caches []cache.Cache) (sum lm.KVBytes) {
	for _, c := range caches {
		sum.Own += c.Bytes()
	}
	return sum
}

// TestKVBytesAreThoseInFlight asks during one request, during two, and after both. Each counts as long
// as it is in flight, whichever had the last round.
func TestKVBytesAreThoseInFlight(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(50), Options{})
	f.model = boundedChain{f.chain}
	if got := f.KVBytes(); got != (lm.KVBytes{}) {
		t.Errorf("before the first request: %+v", got)
	}
	begin := func(n int) (next func() (Token, error, bool), stop func()) {
		next, stop = iter.Pull2(f.Generate(t.Context(), Request{Prompt: counting(0, n),
			MaxTokens: new(20000), IgnoreEOS: true}))
		if _, err, ok := next(); err != nil || !ok {
			t.Fatal(err, ok)
		}
		return next, stop
	}
	_, stopOne := begin(10)
	defer stopOne()
	one := f.KVBytes()
	if one.Own == 0 || one.Own != one.Total() {
		t.Errorf("one request: %+v", one)
	}
	_, stopTwo := begin(300)
	defer stopTwo()
	if two := f.KVBytes(); two.Own < 2*one.Own {
		t.Errorf("two requests hold %d bytes, one held %d", two.Own, one.Own)
	}
	stopTwo()
	if left := f.KVBytes(); left.Own == 0 {
		t.Errorf("one is in flight still: %+v", left)
	}
	stopOne()
	if got := f.KVBytes(); got != (lm.KVBytes{}) {
		t.Errorf("after the last request: %+v", got)
	}
}
