package engine

import (
	"iter"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
)

// A boundedChain is a chain that says its caches were those of bounded layers.
type boundedChain struct {
	*enginetest.Chain
	bytes func() // called before the answer; nil = nothing
}

func (m boundedChain) Bytes(caches []cache.Cache) (sum lm.KVBytes) {
	if m.bytes != nil {
		m.bytes()
	}
	for _, c := range caches {
		sum.Window += c.Bytes()
	}
	return sum
}

// TestKVBytesAreThoseInFlight asks during one request, during two, and after both. Each counts as long
// as it is in flight, whichever had the last round.
func TestKVBytesAreThoseInFlight(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(50), Options{})
	f.kv.bounded = boundedChain{f.chain, nil}
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
	if one.Window == 0 || one.Window != one.Total() {
		t.Errorf("one request: %+v", one)
	}
	_, stopTwo := begin(300)
	defer stopTwo()
	if two := f.KVBytes(); two.Window < 2*one.Window {
		t.Errorf("two requests hold %d bytes, one held %d", two.Window, one.Window)
	}
	stopTwo()
	if left := f.KVBytes(); left.Window == 0 {
		t.Errorf("one is in flight still: %+v", left)
	}
	stopOne()
	if got := f.KVBytes(); got != (lm.KVBytes{}) {
		t.Errorf("after the last request: %+v", got)
	}
}

// TestAPanicInKVBytesFailsOneRequest: caches are measured on the MLX thread, where a panic ends a
// request and not the process. It comes in a prefill, a plain step and after it.
func TestAPanicInKVBytesFailsOneRequest(t *testing.T) {
	for after := range 3 {
		f := newFixture(t, enginetest.Cycle(50), Options{})
		calls := 0
		f.kv.bounded = boundedChain{f.chain, func() {
			if calls++; calls == after+1 {
				panic("no bytes")
			}
		}}
		request := Request{Prompt: counting(0, 10), MaxTokens: new(8), IgnoreEOS: true}
		failed := false
		for _, err := range f.Generate(t.Context(), request) {
			failed = failed || err != nil
		}
		if !failed {
			t.Errorf("after %d measurements a panic failed nothing", after)
		}
		if got := f.KVBytes(); got != (lm.KVBytes{}) {
			t.Errorf("after it: %+v", got)
		}
		for _, err := range f.Generate(t.Context(), request) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
