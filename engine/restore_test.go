package engine

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// recalling returns an engine that keeps checkpoints, over a chain with a full cache and a ring, or
// with two full caches. When the test ends, it checks that the checkpoints leave no memory.
func recalling(t *testing.T, layout cache.Layout, opts Options) *fixture {
	opts.Checkpoints, opts.Layout = 1<<30, layout
	return newFixture(t, enginetest.Cycle(50), opts)
}

// ask runs a request and checks the trie after it.
func (f *fixture) ask(t *testing.T, r Request) (Stats, []int32) {
	t.Helper()
	tokens, _, stats := f.run(t, r)
	f.sound(t)
	return stats, slices.Concat(r.Prompt, ids(tokens))
}

func (f *fixture) sound(t *testing.T) {
	t.Helper()
	if err := f.thread.Do(context.Background(),
		func(*mlx.Scope) error { return f.checkpoints.trie.Check() }); err != nil {
		t.Fatal(err)
	}
}

// counting returns n tokens as the chain has them, from first on.
func counting(first, n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32((first + i) % 50)
	}
	return tokens
}

// TestFollowUpThatPartsInsideAnAnswerIsRestored is the probe of ollama's pull request 15914: a
// short prompt gets a long answer, and the follow-up differs from it inside the answer.
func TestFollowUpThatPartsInsideAnAnswerIsRestored(t *testing.T) {
	for _, depth := range []int{0, 7} {
		script := counting(0, 1000)
		opts := Options{Drafters: []draft.Drafter{&enginetest.Scripted{Text: script, Vocab: 50,
			Wrong: func(round, n int) int { return round % (n + 1) }}}}
		for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
			for _, rollback := range []Rollback{Trim, Undo} {
				f := recalling(t, layout, opts)
				r := Request{Prompt: script[:30], MaxTokens: new(400),
					Speculation: Speculation{Depth: new(depth), Rollback: rollback}}
				stats, text := f.ask(t, r)
				if !slices.Equal(text, script[:430]) || stats.CachedTokens != 0 {
					t.Fatalf("%v: the answer is not the chain's", layout)
				}
				for _, split := range []int{31, 96, 200, 429} {
					r := Request{Prompt: append(slices.Clone(text[:split]), 49, 49),
						MaxTokens: new(1), Speculation: Speculation{Drafter: None}}
					if r.Prompt[split] == text[split] {
						t.Fatal("the follow-up does not part")
					}
					stats, _ := f.ask(t, r)
					if stats.Matched != split || layout == cache.Full &&
						stats.CachedTokens != split || stats.CachedTokens <= split-64 {
						t.Errorf("%v, depth %d, %s: of %d tokens %d matched and %d were restored",
							layout, depth, rollback, split, stats.Matched, stats.CachedTokens)
					}
					if (stats.Miss == "") != (stats.CachedTokens == split) {
						t.Errorf("%d of %d restored, reason %q",
							stats.CachedTokens, split, stats.Miss)
					}
				}
				// The text itself goes on.
				r.Prompt, r.MaxTokens, r.Speculation.Drafter = append(text, 30), new(5), None
				if stats, got := f.ask(t, r); stats.CachedTokens != 429 ||
					!slices.Equal(got, script[:436]) {
					t.Errorf("%v: %d tokens restored, the text goes on with %v",
						layout, stats.CachedTokens, got[430:])
				}
			}
		}
	}
}

// TestWithoutAnswerCheckpointsAFollowUpBeginsAtTheAnswer restores a follow-up that differs inside
// the answer up to the answer's start. A follow-up that repeats the answer is restored to its end.
func TestWithoutAnswerCheckpointsAFollowUpBeginsAtTheAnswer(t *testing.T) {
	f := recalling(t, cache.Ring, Options{PromptOnly: true})
	stats, text := f.ask(t, Request{Prompt: counting(0, 30), MaxTokens: new(400)})
	if n := f.checkpoints.trie.Bytes(); n == 0 || stats.CheckpointBytes != n {
		t.Errorf("checkpoints hold %d bytes, the figures say %d", n, stats.CheckpointBytes)
	}
	for _, split := range []int{200, 96} {
		stats, _ := f.ask(t, Request{Prompt: append(slices.Clone(text[:split]), 49, 49),
			MaxTokens: new(1)})
		if stats.Matched != split || stats.CachedTokens != 29 {
			t.Errorf("of %d tokens %d matched and %d were restored",
				split, stats.Matched, stats.CachedTokens)
		}
	}
	if stats, _ := f.ask(t, Request{Prompt: append(text, 30),
		MaxTokens: new(1)}); stats.CachedTokens != 429 {
		t.Errorf("%d tokens restored of the whole text", stats.CachedTokens)
	}
}

// TestRestoreAtBoundariesAndPartings sends three follow-ups: the same prompt, a prompt that begins
// with a boundary of it, and twice a prompt that differs where no state was captured.
func TestRestoreAtBoundariesAndPartings(t *testing.T) {
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		f := recalling(t, layout, Options{Chunk: 64})
		prompt := counting(0, 200)
		want := func(what string, r Request, ring, full int) {
			t.Helper()
			r.MaxTokens = new(3)
			cached := full
			if layout == cache.Ring {
				cached = ring
			}
			if stats, _ := f.ask(t, r); stats.CachedTokens != cached {
				t.Errorf("%v, %s: %d matched, %d restored, want %d",
					layout, what, stats.Matched, stats.CachedTokens, cached)
			}
		}
		with := func(n int) []int32 { return append(slices.Clone(prompt[:n]), 7, 7, 7) }
		want("first", Request{Prompt: prompt, Boundaries: []int{80, 84, 150}}, 0, 0)
		want("again", Request{Prompt: prompt}, 199, 199)
		want("after a boundary", Request{Prompt: with(81)}, 80, 81)
		want("where nothing was captured", Request{Prompt: with(90)}, 81, 90)
		want("there again", Request{Prompt: with(90)[:91]}, 90, 90)
		want("of one token", Request{Prompt: prompt[:1]}, 0, 0)
		want("scored", Request{Prompt: prompt, PromptLogprobs: true}, 0, 0)
		want("exact", Request{Prompt: prompt, Speculation: Speculation{Exact: true}}, 0, 0)
	}
}

// TestCancelledPromptGoesOnWhereItWas cancels the evaluation of a prompt and sends the prompt
// again.
func TestCancelledPromptGoesOnWhereItWas(t *testing.T) {
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		f := recalling(t, layout, Options{Chunk: 32})
		prompt := counting(0, 320)
		ctx, cancel := context.WithCancel(t.Context())
		f.chain.OnForward = func(n int) {
			if n == 5 {
				cancel()
			}
		}
		for range f.Generate(ctx, Request{Prompt: prompt}) {
		}
		f.chain.OnForward = nil
		if n := len(f.chain.Forwards); n != 6 {
			t.Errorf("%d forwards, the prompt was given up in the sixth", n)
		}
		f.sound(t)
		if stats, _ := f.ask(t, Request{Prompt: prompt,
			MaxTokens: new(1)}); stats.CachedTokens != 192 {
			t.Errorf("%v: %d tokens restored of the 192 that were evaluated",
				layout, stats.CachedTokens)
		}
	}
}

// TestRequestsAtOnceShareABeginning runs requests with one beginning at once. Each restores the
// checkpoints that exist and adds its own.
func TestRequestsAtOnceShareABeginning(t *testing.T) {
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		f := recalling(t, layout, Options{Chunk: 16})
		done := make(chan string, 24)
		for i := range 24 {
			go func() {
				prompt := append(counting(0, 20+40*(i%3)), int32(i%7))
				var got []int32
				for tok, err := range f.Generate(context.Background(),
					Request{Prompt: prompt, MaxTokens: new(90)}) {
					if err != nil {
						done <- err.Error()
						return
					}
					got = append(got, tok.ID)
				}
				if !slices.Equal(got, counting(i%7+1, 90)) {
					done <- "another text came"
					return
				}
				done <- ""
			}()
		}
		for range 24 {
			if problem := <-done; problem != "" {
				t.Error(problem)
			}
		}
		f.sound(t)
	}
}

// TestContinuationsReadTheirPromptOnce asks for several continuations of one prompt at once. The
// first reads the prompt. Each other one reads only its last token. Without checkpoints, or where
// restoring is off, each reads all of it.
func TestContinuationsReadTheirPromptOnce(t *testing.T) {
	const n, prompt, answer = 4, 201, 20
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for _, test := range []struct {
			what   string
			r      Request
			kept   int64
			shared bool
		}{
			{"shared", Request{}, 1 << 30, true},
			{"scored", Request{PromptLogprobs: true}, 1 << 30, false},
			{"exact", Request{Speculation: Speculation{Exact: true}}, 1 << 30, false},
			{"without checkpoints", Request{}, 0, false},
		} {
			f := newFixture(t, enginetest.Cycle(50),
				Options{Layout: layout, Chunk: 64, Checkpoints: test.kept})
			var list []Request
			for i := range n {
				r := test.r
				r.Prompt, r.MaxTokens, r.Seed = counting(0, prompt), new(answer), new(uint64(i))
				list = append(list, r)
			}
			got := f.together(list)
			rows, want := 0, n*prompt
			if test.shared {
				want = prompt
			}
			for _, forward := range f.chain.Forwards {
				if len(forward) == 1 && forward[0] > ExactRows { // a chunk
					rows += forward[0]
				}
			}
			if rows != want {
				t.Errorf("%v, %s: chunks of %d rows, want %d: %v",
					layout, test.what, rows, want, f.chain.Forwards)
			}
			for i, a := range got {
				cached := 0
				if test.shared && i > 0 {
					cached = prompt - 1
				}
				said := ids(a.tokens)
				if a.err != nil || !slices.Equal(said[max(0, len(said)-answer):],
					counting(prompt, answer)) || a.stats.CachedTokens != cached {
					t.Errorf("%v, %s, continuation %d: %d tokens restored, want %d; it says %v, %v",
						layout, test.what, i, a.stats.CachedTokens, cached, said, a.err)
				}
			}
		}
	}
}

// TestCheckpointsOfAFailedRoundAreDropped lets a round fail and sends the prompt again: no token of
// it matches.
func TestCheckpointsOfAFailedRoundAreDropped(t *testing.T) {
	f := recalling(t, cache.Ring, Options{})
	prompt := counting(0, 100)
	f.ask(t, Request{Prompt: prompt, MaxTokens: new(5)})
	f.chain.OnForward = func(int) { panic("out of order") }
	for _, err := range f.Generate(t.Context(), Request{Prompt: prompt}) {
		if err == nil || !strings.Contains(err.Error(), "failed") {
			t.Errorf("the round failed with %v", err)
		}
	}
	f.chain.OnForward = nil
	if stats, text := f.ask(t, Request{Prompt: prompt, MaxTokens: new(5)}); stats.Matched != 0 ||
		!slices.Equal(text, counting(0, 105)) {
		t.Errorf("%d tokens matched after a failure", stats.Matched)
	}
}

// TestCloseFreesAllCheckpoints expects the active memory from before the first request after Close.
func TestCloseFreesAllCheckpoints(t *testing.T) {
	for _, budget := range []int64{1 << 30, 30 << 10} {
		f := newFixture(t, enginetest.Cycle(50), Options{Checkpoints: budget})
		before := f.thread.Memory().Active
		for i := range 30 {
			f.ask(t, Request{Prompt: counting(i, 50+i), MaxTokens: new(70)})
			if n := f.checkpoints.trie.Bytes(); n > budget {
				t.Errorf("%d bytes are kept, the budget is %d", n, budget)
			}
		}
		f.Close()
		if n := f.thread.Memory().Active; n != before {
			t.Errorf("%d bytes are active, %d before", n, before)
		}
	}
}

// TestRestoredCachesAreSizedForTheirNewText lets a request go on with the caches of a longer one.
// The caches then have rows for the new text, not for the older one's limit.
func TestRestoredCachesAreSizedForTheirNewText(t *testing.T) {
	f := recalling(t, cache.Full, Options{})
	const row = 2 * 2 * 4 // bytes: keys and values of two layers
	text := counting(0, 2000)
	for range f.Generate(t.Context(), Request{Prompt: text, MaxTokens: new(20000)}) {
		break // inside a long answer
	}
	text = counting(0, 9500)
	stats, text := f.ask(t, Request{Prompt: text, MaxTokens: new(20)})
	if stats.CachedTokens < 2000 {
		t.Fatalf("%d of 2000 tokens were restored", stats.CachedTokens)
	}
	if held := stats.CheckpointBytes / row; held > int64(len(text)+256) {
		t.Errorf("a text of %d tokens takes %d rows", len(text), held)
	}
}
