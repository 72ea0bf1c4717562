package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// fixture is an engine over a chain model, on a CPU thread.
type fixture struct {
	*Engine
	chain  *enginetest.Chain
	thread *mlx.Thread
	t      *testing.T
}

// waitQueued waits until n requests to generate or encode are in the queue.
func (f *fixture) waitQueued(n int) {
	enginetest.Await(f.t, fmt.Sprintf("%d wait in the queue", n),
		func() bool { return f.Queued() >= n })
}

// waitForJob waits until a job waits for the end of the round.
func (f *fixture) waitForJob() {
	enginetest.Await(f.t, "a job waits", func() bool {
		f.queue.mu.Lock()
		defer f.queue.mu.Unlock()
		return len(f.queue.jobs) > 0
	})
}

func newFixture(t *testing.T, table [][]float32, opts Options, eos ...int32) *fixture {
	t.Helper()
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { th.Close() })
	return newFixtureOn(t, th, table, opts, eos...)
}

// newFixtureOn is newFixture for an engine on a thread that others have too.
func newFixtureOn(t *testing.T, th *mlx.Thread, table [][]float32, opts Options,
	eos ...int32) *fixture {
	t.Helper()
	f := &fixture{thread: th, t: t}
	if err := th.Do(context.Background(), func(s *mlx.Scope) error {
		f.chain = enginetest.NewChain(s, table, eos...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	f.Engine = New(th, f.chain, enginetest.ByteTokenizer(t), opts)
	f.scheduler.runner.pauses.after, f.scheduler.runner.pauses.rowCost = time.Hour, 1 // see withPauses
	t.Cleanup(func() {
		f.Close()
		th.Do(context.Background(), func(*mlx.Scope) error { f.chain.Free(); return nil })
	})
	return f
}

// run collects a generation.
func (f *fixture) run(t *testing.T, r Request) (tokens []Token, text string, stats Stats) {
	t.Helper()
	r.Done = func(s Stats) { stats = s }
	for tok, err := range f.Generate(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, tok)
		text += tok.Text
	}
	return tokens, text, stats
}

func ids(tokens []Token) []int32 {
	out := make([]int32, len(tokens))
	for i, t := range tokens {
		out[i] = t.ID
	}
	return out
}

// script returns a table in which the bytes of text follow one another. Each byte may occur only
// once.
func script(text string) [][]float32 {
	table := make([][]float32, 257)
	for i := range table {
		table[i] = make([]float32, 257)
	}
	for i := range len(text) - 1 {
		table[text[i]][text[i+1]] = 10
	}
	return table
}

func TestGreedyFollowsTheModel(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(50), Options{Chunk: 4})
	for _, n := range []int{1, 3, 4, 5, 11} {
		prompt := make([]int32, n)
		for i := range prompt {
			prompt[i] = int32(i)
		}
		tokens, _, stats := f.run(t, Request{Prompt: prompt, MaxTokens: new(9)})
		for i, tok := range tokens {
			if want := int32((n + i) % 50); tok.ID != want {
				t.Errorf("prompt of %d: token %d is %d, want %d", n, i, tok.ID, want)
			}
		}
		if len(tokens) != 9 || tokens[8].Finish != FinishLength || stats.CompletionTokens != 9 {
			t.Errorf("prompt of %d: %d tokens, last %+v, stats %+v",
				n, len(tokens), tokens[len(tokens)-1], stats)
		}
	}
}

func TestOneSyncPerStep(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{})
	_, _, stats := f.run(t, Request{Prompt: []int32{0}, MaxTokens: new(20), Logprobs: true,
		TopLogprobs: 3})
	if stats.Syncs != 20 {
		t.Errorf("%d syncs for 20 tokens, want one each", stats.Syncs)
	}
	if stats.Rounds != 19 {
		t.Errorf("%d rounds for 20 tokens, want 19: the first comes from the prompt", stats.Rounds)
	}
}

func TestRequestsShareForwards(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(50), Options{})
	started, release := make(chan struct{}), make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == 0 {
			close(started)
			<-release
		}
	}
	results := make(chan string, 4)
	for i := range 4 {
		if i == 1 {
			<-started // the others come while the engine works on the first
		}
		go func() {
			var got []int32
			for tok, err := range f.Generate(context.Background(),
				Request{Prompt: []int32{int32(i * 10)}, MaxTokens: new(100)}) {
				if err != nil {
					results <- err.Error()
					return
				}
				got = append(got, tok.ID)
			}
			for j, id := range got {
				if want := int32((i*10 + 1 + j) % 50); id != want {
					results <- fmt.Sprintf("request %d: token %d is %d, want %d", i, j, id, want)
					return
				}
			}
			results <- ""
		}()
	}
	f.waitQueued(3)
	close(release)
	for range 4 {
		if r := <-results; r != "" {
			t.Error(r)
		}
	}
	shared := slices.ContainsFunc(f.chain.Forwards, func(rows []int) bool { return len(rows) > 1 })
	if !shared {
		t.Error("no forward served two requests")
	}
}

func TestMemoryReturnsAfterRequests(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{Chunk: 8})
	once := func(i int) {
		r := Request{Prompt: make([]int32, 1+i%20), MaxTokens: new(5),
			Sampling: sample.Params{Temperature: 1, TopK: 5, RepetitionPenalty: 1.1}}
		f.run(t, r)
	}
	once(0)
	before := f.thread.Memory().Active
	for i := range 100 {
		once(i)
	}
	if after := f.thread.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d over 100 requests", before, after)
	}
}

// A witness is a cache that shows its last rows before it is freed.
type witness struct {
	cache.Attention
	freed func(*mlx.Scope, cache.Cache)
}

func (w *witness) Free(s *mlx.Scope) {
	w.freed(s, w.Attention)
	w.Attention.Free(s)
}

// TestCachesHoldTheTokensThatWereRead ends a generation in every way, within the ring's size and
// beyond it. The step in flight is rolled back, and both caches hold the tokens before the last one
// read. If the caller leaves the loop, the test cannot know how far the scheduler has run ahead.
func TestCachesHoldTheTokensThatWereRead(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Request
		eos  []int32
		want int // tokens read
	}{
		{"limit", Request{MaxTokens: new(5)}, nil, 5},
		{"eos", Request{}, []int32{'g'}, 6},
		{"stop", Request{Stop: []string{"fg"}}, nil, 6},
		{"stopper", Request{Stop: []string{"cd"}, Stopper: stopsAfter(3, "fg")}, nil, 6},
		{"break", Request{}, nil, 0},
	} {
		for _, x := range []struct {
			prompt, depth int
			exact         bool
		}{
			// the ring has 3 + 32 rows
			{1, 0, false}, {60, 0, false}, {1, 4, false}, {60, 4, false}, {60, 7, false},
			{60, -7, false},
			{1, 0, true}, {60, 0, true}, {60, 4, true}, {60, -7, true},
		} {
			prompt := x.prompt
			t.Run(fmt.Sprintf("%s after %d, %d drafts, exact %v", c.name, prompt, x.depth, x.exact),
				func(t *testing.T) {
					// The model's continuation of the prompt, which ends in a.
					at := func(position int) int32 {
						return int32(('a' - prompt + 1 + position + 256) % 256)
					}
					d := &enginetest.Scripted{Vocab: 256,
						Wrong: func(round, n int) int { return (2*round + 3) % (n + 1) }}
					for i := range enginetest.ChainContext {
						d.Text = append(d.Text, at(i))
					}
					f := newFixture(t, enginetest.Cycle(256),
						Options{Chunk: 8, Drafters: []draft.Drafter{d}}, c.eos...)
					c.r.Speculation = Speculation{Depth: &x.depth, Rollback: Trim}
					if x.depth < 0 {
						c.r.Speculation = Speculation{Depth: new(-x.depth), Rollback: Undo}
					}
					c.r.Speculation.Exact = x.exact
					held := [2][]float32{}
					offset := [2]int{}
					f.chain.Wrap = func(layer int, inner cache.Attention) cache.Attention {
						return &witness{inner, func(s *mlx.Scope, inner cache.Cache) {
							offset[layer] = inner.Offset()
							snap, err := inner.Snapshot(s, 0)
							if err != nil {
								t.Error(err)
								return
							}
							k, _ := snap.Rows(s)
							if held[layer], err = mlx.Read[float32](s, s.Contiguous(k)); err != nil {
								t.Error(err)
							}
							snap.Release()
						}}
					}
					c.r.Prompt = make([]int32, prompt)
					for i := range prompt {
						c.r.Prompt[i] = at(i)
					}
					var stats Stats
					c.r.Done = func(s Stats) { stats = s }
					n := 0
					for _, err := range f.Generate(t.Context(), c.r) {
						if err != nil {
							t.Fatal(err)
						}
						if n++; c.name == "break" && n == 3 {
							break
						}
					}
					read := stats.CompletionTokens
					if c.want > 0 && read != c.want {
						t.Errorf("read %d tokens, want %d", read, c.want)
					}
					for layer, rows := range held {
						want := prompt + read - 1
						if stats.Finish == "" && x.depth == 0 && !x.exact {
							// the text has no end yet, so the row of the last token stays
							want = prompt + read
						}
						if offset[layer] != want {
							t.Errorf("cache %d is at %d, want %d", layer, offset[layer], want)
						}
						for i, v := range rows {
							if p := offset[layer] - len(rows) + i; int32(v) != at(p) {
								t.Errorf("cache %d: position %d holds %v, want %d", layer, p, v, at(p))
							}
						}
					}
				})
		}
	}
}

// TestStepsWriteInPlace decodes over caches of 40 MB. A step that the engine dispatches before it
// has read the step before would copy them.
func TestStepsWriteInPlace(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(50), Options{})
	f.chain.Wide = 2048
	var before mlx.Memory
	n := 0
	for _, err := range f.Generate(t.Context(),
		Request{Prompt: make([]int32, 2100), MaxTokens: new(60)}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 10 {
			if err := f.thread.Do(t.Context(),
				func(s *mlx.Scope) error { s.ResetPeak(); before = s.Memory(); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	const buffer = 2100 * 2048 * 4 // keys, or values, of the full cache
	if grown := f.thread.Memory().Peak - before.Active; grown > buffer {
		t.Errorf("peak rose by %d MB over caches of %d MB", grown>>20, before.Active>>20)
	}
}

var _ lm.Model = (*enginetest.Chain)(nil)
