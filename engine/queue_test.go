package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/sample"
)

func TestInvalidRequestsAreRefused(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{ContextLength: 16})
	long := make([]int32, 17)
	for _, c := range []struct {
		name string
		r    Request
		code Code
		text string
	}{
		{"empty", Request{}, CodeInvalid, "empty"},
		{"foreign id", Request{Prompt: []int32{8}}, CodeInvalid, "id 8"},
		{"negative id", Request{Prompt: []int32{-1}}, CodeInvalid, "id -1"},
		{"too long", Request{Prompt: long}, CodeContextLength, "16 tokens. However, you requested 17"},
		{"negative limit", Request{Prompt: []int32{1}, MaxTokens: new(-1)}, CodeInvalid, "max_tokens"},
		{"temperature", Request{Prompt: []int32{1}, Sampling: sample.Params{Temperature: -1}}, CodeInvalid, "temperature"},
		{"bias", Request{Prompt: []int32{1}, Sampling: sample.Params{LogitBias: map[int32]float32{99: 1}}}, CodeInvalid, "99"},
		{"stop", Request{Prompt: []int32{1}, Stop: []string{""}}, CodeInvalid, "stop text"},
		{"stops", Request{Prompt: []int32{1}, Stop: make([]string, 17)}, CodeInvalid, "16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := 0
			c.r.Done = func(Stats) { done++ }
			var got error
			for _, err := range f.Generate(t.Context(), c.r) {
				got = err
			}
			e, ok := errors.AsType[*Error](got)
			if !ok || e.Code != c.code || !strings.Contains(e.Message, c.text) {
				t.Errorf("got %v, want %s with %q", got, c.code, c.text)
			}
			if done != 1 {
				t.Errorf("Done was called %d times", done)
			}
		})
	}
}

func TestLimitIsCutToTheContext(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{ContextLength: 16})
	tokens, _, _ := f.run(t, Request{Prompt: make([]int32, 10), MaxTokens: new(100)})
	if len(tokens) != 6 || tokens[5].Finish != FinishLength {
		t.Errorf("%d tokens", len(tokens))
	}
}

func TestFullQueueRefusesAllButResumed(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{Queue: 2, Active: 1})
	release := make(chan struct{})
	started := make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == 0 {
			close(started)
			<-release
		}
	}
	done := make(chan error, 4)
	start := func(r Request, prompt int) {
		r.Prompt = make([]int32, prompt)
		go func() {
			var last error
			for _, err := range f.Generate(context.Background(), r) {
				last = err
			}
			done <- last
		}()
	}
	start(Request{MaxTokens: new(2)}, 1)
	<-started
	start(Request{MaxTokens: new(2)}, 3)
	start(Request{MaxTokens: new(2)}, 3)
	f.waitQueued(2)
	var got error
	for _, err := range f.Generate(t.Context(), Request{Prompt: []int32{0}}) {
		got = err
	}
	if e, ok := errors.AsType[*Error](got); !ok || e.Code != CodeQueueFull {
		t.Errorf("fourth request: %v", got)
	}
	// The queue admits a resumed answer even when it is full, and lets it go next.
	start(Request{Generated: []int32{1}, MaxTokens: new(3)}, 4)
	f.waitQueued(3)
	close(release)
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if goesOn, waits := f.forward(4+1), f.forward(3); goesOn < 0 || goesOn > waits {
		t.Errorf("the resumed answer went on in forward %d, a request that waited began in forward %d",
			goesOn, waits)
	}
}

// TestFullQueueHasPlacesForOtherClients: a client alone may fill the queue. Beyond that each other
// client gets 8 places, up to MaxOthers in all. Requests to encode count too.
func TestFullQueueHasPlacesForOtherClients(t *testing.T) {
	q := newQueue(Options{Queue: MaxQueue})
	generate := func(client string) error { return q.add(&task{req: Request{Client: client}}) }
	encode := func(client string) error {
		return q.addEncode(&encodeTask{EncodeRequest: EncodeRequest{Client: client}})
	}
	// fill adds requests of a client until one is refused.
	fill := func(client string, want int) {
		t.Helper()
		n := 0
		for ; n <= want; n++ {
			add := generate
			if n%2 == 1 {
				add = encode
			}
			if err := add(client); err != nil {
				break
			}
		}
		if n != want || generate(client) != errQueueFull || encode(client) != errQueueFull {
			t.Errorf("%q may add %d requests, want %d", client, n, want)
		}
	}
	fill("", MaxQueue)
	for n := range 8 {
		fill(fmt.Sprint("client ", n), 8)
	}
	fill("late", 0)
	if err := q.add(&task{req: Request{Generated: []int32{1}}}); err != nil {
		t.Errorf("a resumed request: %v", err)
	}
}

func TestCloseEndsRequests(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{})
	got := make(chan error, 1)
	first := make(chan struct{})
	go func() {
		var last error
		n := 0
		for _, err := range f.Generate(context.Background(), Request{Prompt: []int32{0}}) {
			if n++; n == 1 {
				close(first)
			}
			last = err
		}
		got <- last
	}()
	<-first
	f.Close()
	if e, ok := errors.AsType[*Error](<-got); !ok || e.Code != CodeClosed {
		t.Errorf("got %v", e)
	}
	for _, err := range f.Generate(t.Context(), Request{Prompt: []int32{0}}) {
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeClosed {
			t.Errorf("after Close: %v", err)
		}
	}
}

// TestCancelStopsWithinOneRound counts the forwards that begin after the cancel. No forward may
// follow the round under way.
func TestCancelStopsWithinOneRound(t *testing.T) {
	for _, when := range []string{"prefill", "decode"} {
		t.Run(when, func(t *testing.T) {
			f := newFixture(t, enginetest.Cycle(30), Options{Chunk: 4})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			at := 3 // forward in which the cancel comes
			if when == "decode" {
				at = 10
			}
			forwards := 0
			f.chain.OnForward = func(n int) {
				if forwards = n; n == at {
					cancel()
				}
			}
			var last error
			var stats Stats
			for _, err := range f.Generate(ctx,
				Request{Prompt: make([]int32, 30), Done: func(s Stats) { stats = s }}) {
				last = err
			}
			if !errors.Is(last, context.Canceled) || !errors.Is(stats.Err, context.Canceled) ||
				stats.Finish != "" {
				t.Errorf("error %v, stats %+v", last, stats)
			}
			// The same round may still have its decode step.
			if forwards > at+1 {
				t.Errorf("forward %d ran, the cancel came in forward %d", forwards, at)
			}
			// The engine is free for the next one.
			f.chain.OnForward = nil
			if tokens, _, _ := f.run(t, Request{Prompt: []int32{0},
				MaxTokens: new(3)}); len(tokens) != 3 {
				t.Errorf("next request gave %d tokens", len(tokens))
			}
		})
	}
}

// TestCutReplyIsAnError ends the context after all tokens were generated and before they were
// handed over.
func TestCutReplyIsAnError(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range f.Generate(ctx, Request{Prompt: []int32{0}, MaxTokens: new(20)}) {
		if last = err; err != nil {
			break
		}
		if n++; n == 1 {
			// The two share their rounds, and this one takes more of them.
			f.run(t, Request{Prompt: []int32{0}, MaxTokens: new(40)})
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("after %d of 20 tokens the range ended with %v", n, last)
	}
}

func TestRequestCancelledInTheQueueIsNotEvaluated(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{Active: 1})
	started, release := make(chan struct{}), make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == 0 {
			close(started)
			<-release
		}
	}
	first := make(chan error, 1)
	go func() {
		first <- drain(f, context.Background(), Request{Prompt: []int32{0}, MaxTokens: new(2)})
	}()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() { second <- drain(f, ctx, Request{Prompt: []int32{5, 5, 5}, MaxTokens: new(2)}) }()
	f.waitQueued(1)
	cancel()
	close(release)
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("the queued request ended with %v", err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	for _, rows := range f.chain.Forwards {
		if rows[0] == 3 {
			t.Error("the cancelled request was evaluated")
		}
	}
}

// drain ranges over a generation and returns its error.
func drain(f *fixture, ctx context.Context, r Request) (last error) {
	for _, err := range f.Generate(ctx, r) {
		last = err
	}
	return last
}

// TestPanicInTheLoopBodyEndsTheRequest panics in the body of the range. The panic reaches the
// caller, and the next request works.
func TestPanicInTheLoopBodyEndsTheRequest(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{})
	done := 0
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		for range f.Generate(t.Context(), Request{Prompt: []int32{0},
			Done: func(Stats) { done++ }}) {
			panic("body")
		}
	}()
	if done != 1 {
		t.Errorf("Done was called %d times", done)
	}
	if tokens, _, _ := f.run(t, Request{Prompt: []int32{0}, MaxTokens: new(3)}); len(tokens) != 3 {
		t.Errorf("next request gave %d tokens", len(tokens))
	}
}

// TestPanicFailsTheRoundOnly lets a forward panic. The requests that share it fail and leave no
// memory in use. The next request works.
func TestPanicFailsTheRoundOnly(t *testing.T) {
	for _, at := range []int{0, 3} { // in the prefill, in a step
		f := newFixture(t, enginetest.Cycle(30), Options{})
		f.run(t, Request{Prompt: []int32{0}, MaxTokens: new(1)})
		before := f.thread.Memory().Active
		first := len(f.chain.Forwards)
		f.chain.OnForward = func(n int) {
			if n == first+at {
				f.chain.OnForward = nil
				panic("boom")
			}
		}
		err := drain(f, t.Context(), Request{Prompt: []int32{0}, MaxTokens: new(9),
			Sampling: sample.Params{PresencePenalty: 1}})
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeInternal {
			t.Fatalf("forward %d: %v", at, err)
		}
		if tokens, _, _ := f.run(t, Request{Prompt: []int32{0},
			MaxTokens: new(9)}); len(tokens) != 9 {
			t.Errorf("next request gave %d tokens", len(tokens))
		}
		if after := f.thread.Memory().Active; after != before {
			t.Errorf("forward %d: active memory went from %d to %d", at, before, after)
		}
	}
}
