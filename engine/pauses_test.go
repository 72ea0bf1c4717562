package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// withPauses has the engine evaluate each layer of a chunk apart.
func (f *fixture) withPauses() { f.scheduler.runner.pauses.after = 1 }

// passing begins to read 16k tokens with pauses, of a prompt or of an encode request, and submits what comes
// during the chunk at. It returns the fixture after all have ended.
func passing(t *testing.T, encodes bool, at int, o Options, submit func(*fixture) []<-chan error) *fixture {
	t.Helper()
	f, halts := halting(t, o, at)
	f.withPauses()
	var long <-chan error
	if encodes {
		long = beginEncode(f, "long", 16<<10, 0)
	} else {
		long = begin(f, t.Context(), Request{Client: "long", Prompt: make([]int32, 16<<10), MaxTokens: new(1)}, 0)
	}
	<-halts[0].there
	all := submit(f)
	halts[0].free()
	ends(t, append(all, long)...)
	if f.thread.Lent() == 0 {
		t.Error("nothing ran between the layers")
	}
	if n := f.prompts(cache.MaxChunk, 0, len(f.chain.Forwards)); n != 32 {
		t.Errorf("encodes %t: the long text took %d chunks", encodes, n)
	}
	return f
}

// one is the Options.SequenceBytes with which Engine.Reserved counts what is in flight.
func one(int) int64 { return 1 }

// arrived waits until n requests and encode requests are in flight or in the queue.
func (f *fixture) arrived(n int) {
	enginetest.Await(f.t, "all have arrived", func() bool { return int(f.Reserved())+f.Queued() >= n })
}

// TestShortQuestionIsAnsweredWithinAChunk sends a short prompt while a chunk of a long one, or of a long encode
// request, is read. Its prompt is read before the next chunk.
func TestShortQuestionIsAnsweredWithinAChunk(t *testing.T) {
	for i, client := range []string{"long", "other", "long", "other"} {
		for at := range 6 {
			f := passing(t, i > 1, at, Options{SequenceBytes: one, Room: 100}, func(f *fixture) []<-chan error {
				short := begin(f, t.Context(), Request{Client: client, Prompt: make([]int32, 9), MaxTokens: new(5)}, 0)
				f.arrived(2)
				return []<-chan error{short}
			})
			if i := f.forward(9); i != at+1 {
				t.Errorf("from the client %q it came during chunk %d and was read in forward %d", client, at, i)
			}
		}
	}
}

// TestShortPromptsThatKeepComingDoNotHoldAChunkUp sends many short prompts during a chunk. Only so many
// pass it, and after it the long prompt has every fourth chunk.
func TestShortPromptsThatKeepComingDoNotHoldAChunkUp(t *testing.T) {
	for _, encodes := range []bool{false, true} {
		f := passing(t, encodes, 2, Options{SequenceBytes: one, Room: 100, Active: 24}, func(f *fixture) (all []<-chan error) {
			for range 10 {
				all = append(all, begin(f, t.Context(), Request{Prompt: make([]int32, 9), MaxTokens: new(1)}, 0))
			}
			for range 10 {
				all = append(all, beginEncode(f, "e", 9, 0))
			}
			f.arrived(21)
			return all
		})
		passed := slices.IndexFunc(f.chain.Forwards[3:], func(rows []int) bool {
			return slices.Equal(rows, []int{cache.MaxChunk})
		})
		// Others pass the chunk, then the other kind has its turn, then others pass the next chunk, which may
		// get the thread after them.
		if passed < maxPassed || passed > maxPassed+1+maxPassed {
			t.Errorf("encodes %t: %d prompts passed the chunk: %v", encodes, passed, f.chain.Forwards)
		}
	}
}

// TestEncodeChunkWithPausesThatIsCancelledLeavesNothing cancels an encode request, and closes the engine,
// while a chunk with pauses is evaluated. The chunk ends first, and its caches are freed.
func TestEncodeChunkWithPausesThatIsCancelledLeavesNothing(t *testing.T) {
	for _, closes := range []bool{false, true} {
		f, halts := halting(t, Options{}, 2)
		f.withPauses()
		before := f.thread.Memory().Active
		ctx, cancel := context.WithCancel(t.Context())
		long := make(chan error, 1)
		go func() {
			_, _, err := f.Encode(ctx, EncodeRequest{Sequences: [][]int32{make([]int32, 4<<10)}, Pooling: lm.PoolLast})
			long <- err
		}()
		endWithinChunk(t, f, halts[0], long, cancel, closes)
		if n := len(f.chain.Forwards); n != 3 {
			t.Errorf("closes %t: %d chunks were evaluated", closes, n)
		}
		if !closes {
			ends(t, beginEncode(f, "after", 9, 0))
		}
		if after := f.thread.Memory().Active; after != before {
			t.Errorf("closes %t: %d bytes are left in MLX", closes, after-before)
		}
	}
}

// endWithinChunk closes the engine, or cancels the request whose error long gets, while a chunk is at h.
func endWithinChunk(t *testing.T, f *fixture, h halt, long <-chan error, cancel func(), closes bool) {
	t.Helper()
	defer cancel()
	<-h.there
	if closes {
		f.queue.close()
	} else {
		cancel()
	}
	h.free()
	if err := <-long; !errors.Is(err, context.Canceled) && !errors.Is(err, errClosed) {
		t.Errorf("closes %t: it ended with %v", closes, err)
	}
}

// TestChunkWithPausesThatIsCancelledLeavesCheckpoints cancels a request, and closes the engine, while a
// chunk with pauses is evaluated. The chunk ends first.
func TestChunkWithPausesThatIsCancelledLeavesCheckpoints(t *testing.T) {
	for _, closes := range []bool{false, true} {
		f, halts := halting(t, Options{Checkpoints: 1 << 30}, 2)
		f.withPauses()
		ctx, cancel := context.WithCancel(t.Context())
		prompt := make([]int32, 4<<10)
		long := begin(f, ctx, Request{Prompt: prompt, MaxTokens: new(1)}, 0)
		endWithinChunk(t, f, halts[0], long, cancel, closes)
		if closes {
			continue
		}
		if _, _, st := f.run(t, Request{Prompt: prompt, MaxTokens: new(1)}); st.CachedTokens != 3*cache.MaxChunk {
			t.Errorf("%d tokens are restored after three chunks", st.CachedTokens)
		}
	}
}

// An interrupted cache calls do before the update at an offset.
type interrupted struct {
	cache.Attention
	at int
	do func()
}

func (c interrupted) Update(s *mlx.Scope, k, v *mlx.Array) cache.View {
	if c.Offset() == c.at {
		c.do()
	}
	return c.Attention.Update(s, k, v)
}

// TestChunkWithPausesThatFailsEndsItsRequestAlone lets a chunk fail in its second layer. A request that was
// answered before it goes on.
func TestChunkWithPausesThatFailsEndsItsRequestAlone(t *testing.T) {
	f, halts := halting(t, Options{SequenceBytes: one, Room: 100}, 1)
	f.withPauses()
	f.chain.Wrap = func(layer int, inner cache.Attention) cache.Attention {
		if layer == 1 {
			return interrupted{inner, cache.MaxChunk, func() { panic("a layer") }}
		}
		return inner
	}
	long := begin(f, t.Context(), Request{Prompt: make([]int32, 4<<10), MaxTokens: new(1)}, 0)
	<-halts[0].there
	short := begin(f, t.Context(), Request{Prompt: make([]int32, 9), MaxTokens: new(40)}, 0)
	f.arrived(2)
	halts[0].free()
	ends(t, short)
	var failed *Error
	if err := <-long; !errors.As(err, &failed) {
		t.Errorf("it ended with %v", err)
	}
	if i := f.forward(9); i != 2 {
		t.Errorf("the short prompt was read in forward %d", i)
	}
}

// TestTimeOfOthersIsCounted reads a prompt that takes 50 ms while an answer is written. Both requests
// know how long they waited for each other.
func TestTimeOfOthersIsCounted(t *testing.T) {
	const long = 50 * time.Millisecond
	f := newFixture(t, enginetest.Cycle(30), Options{})
	requests := 0
	f.chain.Wrap = func(layer int, inner cache.Attention) cache.Attention {
		if requests += 1 - layer; requests == 2 && layer == 0 {
			return interrupted{inner, 0, func() { time.Sleep(long) }}
		}
		return inner
	}
	var answer, prompt Stats
	var other <-chan error
	for _, err := range f.Generate(t.Context(), Request{Prompt: make([]int32, 9), MaxTokens: new(20_000),
		Done: func(s Stats) { answer = s }}) {
		if err != nil {
			t.Fatal(err)
		}
		if other == nil {
			other = begin(f, t.Context(), Request{Prompt: make([]int32, 300), MaxTokens: new(1),
				Done: func(s Stats) { prompt = s }}, 0)
		}
		if len(other) > 0 {
			break
		}
	}
	ends(t, other)
	if answer.Beside < long || answer.Beside > answer.Total {
		t.Errorf("the answer took %v, of which %v beside it", answer.Total, answer.Beside)
	}
	if prompt.Beside > prompt.Total-long {
		t.Errorf("the prompt took %v, of which %v beside it", prompt.Total, prompt.Beside)
	}
}
