package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
)

// TestCancelEndsEveryKindOfWorkWithinOneRound counts the forwards that begin after the cancel, in
// each kind of work. Two are allowed:
//   - the step of the round under way;
//   - the evaluation of carried tokens, which puts them into the caches.
func TestCancelEndsEveryKindOfWorkWithinOneRound(t *testing.T) {
	for name, c := range map[string]struct {
		r      Request
		at     int  // the forward in which the cancel comes
		shared bool // with another request, which goes on
	}{
		"a prompt":             {Request{}, 1, false},
		"the last of a prompt": {Request{}, 2, false},
		"scores of a prompt":   {Request{PromptLogprobs: true}, 1, false},
		"plain steps":          {Request{Speculation: Speculation{Drafter: None}}, 9, false},
		"shared steps":         {Request{Speculation: Speculation{Drafter: None}}, 30, true},
		"drafts":               {Request{Speculation: Speculation{Depth: new(4)}}, 6, false},
		"drafts beside others": {Request{Speculation: Speculation{Depth: new(4)}}, 30, true},
		"drafts that are carried": {Request{Speculation: Speculation{Depth: new(4),
			Rollback: Undo}}, 6, false},
		"exact rounds": {Request{Speculation: Speculation{Exact: true}}, 6, false},
		"a grammar":    {Request{Grammar: &sieve{vocab: 50}}, 6, false},
		"a grammar, drafts": {Request{Grammar: &sieve{vocab: 50},
			Speculation: Speculation{Depth: new(4)}}, 6, false},
		"an answer that is resumed": {Request{Generated: counting(12, 10)}, 7, false},
	} {
		t.Run(name, func(t *testing.T) {
			drafter := &enginetest.Scripted{Text: counting(0, 4000), Vocab: 50,
				Wrong: func(round, n int) int { return round % (n + 1) }}
			f := newFixture(t, enginetest.Cycle(50),
				Options{Chunk: 4, Drafters: []draft.Drafter{drafter}})
			f.run(t, Request{Prompt: counting(0, 1), MaxTokens: new(1)})
			before, base := f.thread.Memory().Active, len(f.chain.Forwards)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			last, middle := 0, halt{make(chan struct{}), make(chan struct{})}
			f.chain.OnForward = func(n int) {
				if n == base+4 && c.shared {
					close(middle.there)
					<-middle.held
				}
				if last = n - base; last == c.at {
					cancel()
				}
			}
			other, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			if c.shared {
				go func() {
					ended <- drain(f, other, Request{Prompt: counting(0, 1),
						Speculation: Speculation{Drafter: None}})
				}()
				<-middle.there
			}
			c.r.Prompt = counting(0, 12)
			var stats Stats
			c.r.Done = func(s Stats) { stats = s }
			mine := begin(f, ctx, c.r, 0)
			if c.shared {
				f.waitQueued(1)
				middle.free()
			}
			err := <-mine
			if !errors.Is(err, context.Canceled) || !errors.Is(stats.Err, context.Canceled) ||
				stats.Finish != "" {
				t.Errorf("error %v, stats %+v", err, stats)
			}
			if read := stats.Queue + stats.Prefill; stats.Prefill <= 0 || read > stats.Total {
				t.Errorf("the request waited %v and read for %v of %v",
					stats.Queue, stats.Prefill, stats.Total)
			}
			if c.shared {
				stop()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("the other one ended with %v", err)
				}
				for _, rows := range f.chain.Forwards[min(base+c.at+2, len(f.chain.Forwards)):] {
					if !slices.Equal(rows, []int{1}) {
						t.Errorf("after the cancel in forward %d a forward has rows %v", c.at, rows)
					}
				}
			} else if last < c.at || last > c.at+1 {
				t.Errorf("forward %d ran, the cancel came in forward %d", last, c.at)
			}
			f.chain.OnForward = nil
			// after the work that was dispatched and not read
			f.run(t, Request{Prompt: counting(0, 1), MaxTokens: new(1)})
			if left := f.thread.Memory().Active; left != before {
				t.Errorf("%d bytes are left in MLX", left-before)
			}
		})
	}
}

// TestCancelledEncodeHasNoFurtherChunk cancels encode requests in flight and in the queue. The other
// encode requests go on.
func TestCancelledEncodeHasNoFurtherChunk(t *testing.T) {
	for _, waits := range []bool{false, true} {
		f, halts := halting(t, Options{Chunk: 4, Active: 2}, 2)
		first := beginEncode(f, "a", 40, 0)
		<-halts[0].there
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() {
			_, _, err := f.Encode(ctx, EncodeRequest{Sequences: [][]int32{make([]int32, 3)},
				Pooling: lm.PoolLast})
			second <- err
		}()
		f.waitQueued(1)
		if waits {
			cancel()
		}
		halts[0].free()
		if err := <-second; waits != errors.Is(err, context.Canceled) {
			t.Errorf("cancelled %t: the second ended with %v", waits, err)
		}
		cancel()
		ends(t, first)
		if (f.forward(3) < 0) != waits {
			t.Errorf("cancelled %t: %v", waits, f.chain.Forwards)
		}
	}
}
