package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
)

// cut runs a request that is cancelled in its at-th forward, from 0, checks the
// trie after it and returns how many tokens came.
func (f *fixture) cut(t *testing.T, r Request, at int) (tokens int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := len(f.chain.Forwards)
	f.chain.OnForward = func(n int) {
		if n == first+at {
			cancel()
		}
	}
	for _, err := range f.Generate(ctx, r) {
		if err == nil {
			tokens++
		}
	}
	f.chain.OnForward = nil
	f.sound(t)
	return tokens
}

// strangers runs requests with beginnings of their own. They are more than the trie can keep caches
// of.
func (f *fixture) strangers(t *testing.T) {
	t.Helper()
	for i := range 6 {
		f.ask(t, Request{Prompt: counting(30+i, 70), MaxTokens: new(2)})
	}
}

// interval is the largest distance in tokens from a place in a short text to the checkpoint before
// it. Answers are captured that often.
const interval = 64

// TestTurnLosesAtMostOneCheckpointInterval restores each turn exactly as far as the turn before it
// was evaluated. A turn with another wording loses at most the distance of two checkpoints, even
// after requests of other clients.
func TestTurnLosesAtMostOneCheckpointInterval(t *testing.T) {
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for _, others := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, others %v", layout, others), func(t *testing.T) {
				f := recalling(t, layout, Options{Chunk: 32})
				text := counting(0, 40)
				var ends []int // of prompts and of answers
				for turn, answer := range []int{90, 130, 20, 200, 64} {
					said := []int32{7, int32(turn), 9, 9, int32(turn), 3}
					r := Request{Prompt: slices.Concat(text, said), Boundaries: []int{len(text)},
						MaxTokens: &answer}
					stats, got := f.ask(t, r)
					before := max(0, len(text)-1) // the answer's last token was not evaluated
					switch {
					// the end of an answer as short as this one is not kept
					case turn == 3 && layout == cache.Ring:
						if stats.CachedTokens <= before-interval {
							t.Errorf("turn %d: %d of %d tokens restored",
								turn, stats.CachedTokens, before)
						}
					case turn > 0 && (stats.Matched != before || stats.CachedTokens != before):
						t.Errorf("turn %d: %d tokens matched, %d restored of %d, %s",
							turn, stats.Matched, stats.CachedTokens, before, stats.Miss)
					}
					if want := counting(4, answer); !slices.Equal(got[len(r.Prompt):], want) {
						t.Errorf("turn %d: the answer is %v, want %v",
							turn, got[len(r.Prompt):], want)
					}
					ends = append(ends, len(r.Prompt), len(got))
					text = got
					if others {
						f.strangers(t)
					}
				}
				for _, end := range ends[:len(ends)-1] {
					for _, part := range []int{end - 3, end + 10} {
						prompt := append(slices.Clone(text[:part]), 48, 48, 48)
						stats, _ := f.ask(t, Request{Prompt: prompt, MaxTokens: new(2)})
						if stats.Matched != part || stats.CachedTokens <= part-interval ||
							layout == cache.Full && stats.CachedTokens != part {
							t.Errorf("with another wording from %d on: %d matched, %d restored",
								part, stats.Matched, stats.CachedTokens)
						}
						if others {
							f.strangers(t)
						}
					}
				}
			})
		}
	}
}

// TestClientThatGivesUpGetsFurtherEachTime cancels a long prompt early and asks again. The
// checkpoints that remain also serve other prompts with the same beginning.
func TestClientThatGivesUpGetsFurtherEachTime(t *testing.T) {
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		t.Run(string(layout), func(t *testing.T) {
			f := recalling(t, layout, Options{Chunk: 32})
			prompt := counting(0, 600)
			r := Request{Prompt: prompt, Boundaries: []int{100, 300, 310}, MaxTokens: new(3)}
			for done := 0; done < 512; done += 64 {
				var seen Stats
				r.Done = func(s Stats) { seen = s }
				f.cut(t, r, 1) // in its second chunk
				// no token after the evaluated ones matches
				if seen.Matched != done || seen.CachedTokens != done {
					t.Errorf("after %d tokens: %d matched, %d restored",
						done, seen.Matched, seen.CachedTokens)
				}
			}
			for _, c := range []struct{ part, ring int }{{130, 128}, {305, 300}, {101, 100}} {
				stats, _ := f.ask(t, Request{Prompt: append(slices.Clone(prompt[:c.part]), 48, 48),
					MaxTokens: new(1)})
				if want := map[cache.Layout]int{cache.Ring: c.ring,
					cache.Full: c.part}[layout]; stats.CachedTokens != want {
					t.Errorf("another text that parts at %d: %d restored, want %d",
						c.part, stats.CachedTokens, want)
				}
			}
			if stats, _ := f.ask(t, r); stats.CachedTokens != 512 {
				t.Errorf("%d of the 512 tokens were restored in the end", stats.CachedTokens)
			}
		})
	}
}

// TestCancelledOthersCostAtMostOneCheckpointInterval cancels other texts beside a main text. Some
// of them are beginnings of the main text. They cost it at most the distance of two checkpoints.
func TestCancelledOthersCostAtMostOneCheckpointInterval(t *testing.T) {
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for _, depth := range []int{0, 5} {
			t.Run(fmt.Sprintf("%s, %d drafts", layout, depth), func(t *testing.T) {
				f := recalling(t, layout, Options{Chunk: 32,
					Drafters: []draft.Drafter{&enginetest.Scripted{Text: counting(0, 3000),
						Vocab: 50}}})
				rng := rand.New(rand.NewPCG(1, uint64(depth)))
				text := counting(0, 150)
				for turn := range 12 {
					for range 1 + rng.IntN(4) {
						r := Request{MaxTokens: new(300), Speculation: Speculation{Drafter: None}}
						switch rng.IntN(3) {
						case 0: // another text
							r.Prompt = counting(1+rng.IntN(49), 20+rng.IntN(200))
						case 1: // a text that parts from the main text
							r.Prompt = append(slices.Clone(text[:1+rng.IntN(len(text)-1)]),
								counting(rng.IntN(50), 1+rng.IntN(100))...)
						case 2: // the main text, or a part of it
							r.Prompt = text[:1+rng.IntN(len(text))]
							r.Speculation = Speculation{Depth: &depth,
								Rollback: []Rollback{Trim, Undo}[rng.IntN(2)]}
						}
						f.cut(t, r, rng.IntN(20))
					}
					r := Request{Prompt: text, MaxTokens: new(65),
						Speculation: Speculation{Depth: &depth}}
					stats, got := f.ask(t, r)
					if before := len(text) - 1; turn > 0 && stats.CachedTokens <= before-interval {
						t.Errorf("turn %d: %d of %d tokens restored",
							turn, stats.CachedTokens, before)
					}
					if !slices.Equal(got, counting(0, len(got))) {
						t.Fatalf("turn %d goes on with %v", turn, got[len(text):])
					}
					text = got
				}
			})
		}
	}
}

// TestCancelInAnyRoundLeavesSoundCaches cancels a request in each round of its prompt and of its
// answer. A following request restores everything that can be restored, and has the same output. At
// the end no memory is left in use.
func TestCancelInAnyRoundLeavesSoundCaches(t *testing.T) {
	const prompt, chunk = 100, 32 // four chunks
	script := counting(0, 1000)
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for _, way := range []Speculation{{Drafter: None}, {Depth: new(7), Rollback: Trim},
			{Depth: new(7), Rollback: Undo}} {
			t.Run(fmt.Sprintf("%s, %s %s", layout, way.Drafter, way.Rollback), func(t *testing.T) {
				d := &enginetest.Scripted{Text: script, Vocab: 50,
					Wrong: func(round, n int) int { return round % (n + 1) }}
				f := recalling(t, layout, Options{Chunk: chunk, Drafters: []draft.Drafter{d}})
				before := f.thread.Memory().Active
				for at := range 24 {
					f.checkpoints.drop() // no request is in flight
					var seen Stats
					n := f.cut(t, Request{Prompt: script[:prompt], Speculation: way,
						Done: func(s Stats) { seen = s }}, at)
					if n > seen.CompletionTokens {
						t.Errorf("forward %d: %d tokens came of %d that were recorded",
							at, n, seen.CompletionTokens)
					}
					evaluated := min((at+1)*chunk, prompt)
					if at*chunk >= prompt { // all but the last token, which may be in the caches
						evaluated = prompt + seen.CompletionTokens - 1
					}
					stats, text := f.ask(t,
						Request{Prompt: script[:prompt+seen.CompletionTokens+20],
							MaxTokens: new(30), Speculation: way})
					if !slices.Equal(text, script[:len(text)]) {
						t.Errorf("forward %d: the text goes on with %v", at, text[prompt:])
					}
					if extra := stats.Matched - evaluated; layout == cache.Full && extra != 0 &&
						extra != 1 || extra > 1 {
						t.Errorf("forward %d: %d tokens matched of %d that were evaluated",
							at, stats.Matched, evaluated)
					}
					kept := evaluated
					if layout == cache.Ring && seen.CompletionTokens > 0 &&
						seen.CompletionTokens < checkpoint.Final {
						kept = prompt - 1
					}
					if stats.CachedTokens < kept {
						t.Errorf("forward %d: %d tokens restored of %d that were kept, %s",
							at, stats.CachedTokens, kept, stats.Miss)
					}
				}
				f.Close()
				if after := f.thread.Memory().Active; after != before {
					t.Errorf("%d bytes are active, %d before", after, before)
				}
			})
		}
	}
}
