package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"tandem/engine/enginetest"
)

// crowded returns an engine with room for that many positions. It stops in its first forward until
// release is called.
func crowded(t *testing.T, room int64) (f *fixture, started <-chan struct{}, release func()) {
	return stopped(t, Options{Room: room})
}

// stopped is crowded with options of its own. A position takes a byte.
func stopped(t *testing.T, o Options) (f *fixture, started <-chan struct{}, release func()) {
	o.SequenceBytes = func(n int) int64 { return int64(n) }
	f = newFixture(t, enginetest.Cycle(30), o)
	begun, held := make(chan struct{}), make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == 0 {
			close(begun)
			<-held
		}
	}
	return f, begun, func() { close(held) }
}

// begin starts a request. If queued is over 0, it waits until that many requests are in the queue.
func begin(f *fixture, ctx context.Context, r Request, queued int) <-chan error {
	done := make(chan error, 1)
	go func() { done <- drain(f, ctx, r) }()
	f.waitQueued(queued)
	return done
}

// forward returns the forward in which a prompt of that many tokens was read, or -1.
func (f *fixture) forward(prompt int) int {
	return slices.IndexFunc(f.chain.Forwards,
		func(rows []int) bool { return slices.Equal(rows, []int{prompt}) })
}

func ends(t *testing.T, requests ...<-chan error) {
	t.Helper()
	for i, r := range requests {
		if err := <-r; err != nil {
			t.Errorf("request %d ended with %v", i+1, err)
		}
	}
}

// TestLargeRequestIsNotOvertakenBySmallerOnes sends a request that does not fit beside the first
// one. It waits until the first has ended, and a later, smaller request waits too.
func TestLargeRequestIsNotOvertakenBySmallerOnes(t *testing.T) {
	f, started, release := crowded(t, 22)
	first := begin(f, t.Context(), Request{Prompt: make([]int32, 8), MaxTokens: new(8)}, 0)
	<-started
	second := begin(f, t.Context(), Request{Prompt: make([]int32, 3), MaxTokens: new(5)}, 1)
	// would fit beside the first
	third := begin(f, t.Context(), Request{Prompt: make([]int32, 2), MaxTokens: new(4)}, 2)
	release()
	ends(t, first, second, third)
	at := f.forward(3)
	if at < 8 { // the first one's prompt, and a step for every token but one
		t.Errorf("the second prompt was read in forward %d, beside the first request: %v",
			at, f.chain.Forwards)
	}
	if last := f.forward(2); last < 8 {
		t.Errorf("the third prompt was read in forward %d, ahead of the second request: %v",
			last, f.chain.Forwards)
	}
	if !slices.ContainsFunc(f.chain.Forwards, func(rows []int) bool { return len(rows) == 2 }) {
		t.Errorf("the second and third requests fit together, but shared no forward: %v",
			f.chain.Forwards)
	}
}

// TestRequestAfterACancelledOneStarts cancels a request that waits for room. The request after it
// then starts at once.
func TestRequestAfterACancelledOneStarts(t *testing.T) {
	f, started, release := crowded(t, 20)
	first := begin(f, t.Context(), Request{Prompt: make([]int32, 8), MaxTokens: new(8)}, 0)
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	var stats Stats
	second := begin(f, ctx, Request{Prompt: make([]int32, 3), MaxTokens: new(5),
		Done: func(s Stats) { stats = s }}, 1)
	third := begin(f, t.Context(), Request{Prompt: make([]int32, 2), MaxTokens: new(2)}, 2)
	cancel()
	release()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled request ended with %v", err)
	}
	if stats.Queue <= 0 || stats.Queue > stats.Total || stats.Prefill != 0 {
		t.Errorf("the cancelled request waited %v and read for %v of %v",
			stats.Queue, stats.Prefill, stats.Total)
	}
	ends(t, first, third)
	if f.forward(3) >= 0 {
		t.Error("the cancelled request was evaluated")
	}
	if at := f.forward(2); at < 0 || at > 3 {
		t.Errorf("the third prompt was read in forward %d, with room beside the first: %v",
			at, f.chain.Forwards)
	}
}

// TestRequestAloneAlwaysHasRoom runs a request that needs more than the whole room. It runs alone.
func TestRequestAloneAlwaysHasRoom(t *testing.T) {
	f, started, release := crowded(t, 5)
	first := begin(f, t.Context(), Request{Prompt: make([]int32, 8), MaxTokens: new(8)}, 0)
	<-started
	second := begin(f, t.Context(), Request{Prompt: make([]int32, 3), MaxTokens: new(8)}, 1)
	release()
	ends(t, first, second)
	if at := f.forward(3); at < 8 {
		t.Errorf("the second prompt was read in forward %d: %v", at, f.chain.Forwards)
	}
	if tokens, _, _ := f.run(t, Request{Prompt: make([]int32, 8),
		MaxTokens: new(8)}); len(tokens) != 8 {
		t.Errorf("%d tokens", len(tokens))
	}
}

// TestLimitIsCutBeforeItIsCounted expects that a limit is cut to the context before its bytes
// count.
func TestLimitIsCutBeforeItIsCounted(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{ContextLength: 16})
	limit, err := f.check(Request{Prompt: make([]int32, 10), MaxTokens: new(100)})
	if most := newTask(t.Context(), Request{Prompt: make([]int32, 10)}, limit, f.tok,
		nil).maxPositions(); err != nil || most != 16 {
		t.Errorf("the request may come to have %d positions, %v", most, err)
	}
}

// TestCompletionStartsBesideAChatThatHasTheMemory starts a short request beside a text that takes
// all other memory. It goes ahead of the long requests that wait, and delays none of them.
func TestCompletionStartsBesideAChatThatHasTheMemory(t *testing.T) {
	f, started, release := stopped(t, Options{Room: 30 + 8, Short: 5, ContextLength: 30})
	first := begin(f, t.Context(), Request{Prompt: make([]int32, 10)}, 0) // as long as the context
	<-started
	second := begin(f, t.Context(), Request{Prompt: make([]int32, 6), MaxTokens: new(20)}, 1)
	short := begin(f, t.Context(), Request{Prompt: make([]int32, 2), MaxTokens: new(3)}, 2)
	// there is room for one of them
	another := begin(f, t.Context(), Request{Prompt: make([]int32, 3), MaxTokens: new(2)}, 3)
	release()
	ends(t, first, second, short, another)
	at, waited, next := f.forward(2), f.forward(6), f.forward(3)
	if at < 0 || at > 3 {
		t.Errorf("the short prompt was read in forward %d: %v", at, f.chain.Forwards)
	}
	if waited < 20 {
		t.Errorf("the long prompt was read in forward %d, beside the first request: %v",
			waited, f.chain.Forwards)
	}
	if next <= at || next > waited {
		t.Errorf("the other short prompt was read in forward %d, want after the short one and before the long one: %v",
			next, f.chain.Forwards)
	}
}

// TestShortRequestsWaitWhereAContextTakesAll expects that short requests wait like others where a
// whole context takes all memory.
func TestShortRequestsWaitWhereAContextTakesAll(t *testing.T) {
	f, started, release := stopped(t, Options{Room: 30, Short: 5, ContextLength: 30})
	first := begin(f, t.Context(), Request{Prompt: make([]int32, 10)}, 0)
	<-started
	short := begin(f, t.Context(), Request{Prompt: make([]int32, 2), MaxTokens: new(3)}, 1)
	release()
	ends(t, first, short)
	if at := f.forward(2); at < 20 {
		t.Errorf("the short prompt was read in forward %d: %v", at, f.chain.Forwards)
	}
}
