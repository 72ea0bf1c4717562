package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A halt is a forward in which an engine stops until free is called.
type halt struct{ there, held chan struct{} }

func (h halt) free() { close(h.held) }

// halting returns an engine that stops in the forwards at.
func halting(t *testing.T, o Options, at ...int) (f *fixture, halts []halt) {
	f = newFixture(t, enginetest.Cycle(30), o)
	for range at {
		halts = append(halts, halt{make(chan struct{}), make(chan struct{})})
	}
	f.chain.OnForward = func(n int) {
		if i := slices.Index(at, n); i >= 0 {
			close(halts[i].there)
			<-halts[i].held
		}
	}
	return f, halts
}

// beginEncode is begin for an encode request of one text.
func beginEncode(f *fixture, client string, tokens, queued int) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, _, err := f.Encode(context.Background(),
			EncodeRequest{Client: client, Sequences: [][]int32{make([]int32, tokens)}, Pooling: lm.PoolLast})
		done <- err
	}()
	f.waitQueued(queued)
	return done
}

// prompts counts the forwards in [from, to) that read prompts of that many tokens.
func (f *fixture) prompts(tokens, from, to int) (n int) {
	for _, rows := range f.chain.Forwards[from:to] {
		if slices.Equal(rows, []int{tokens}) {
			n++
		}
	}
	return n
}

// TestEditorDoesNotWaitForSixtyRequestsOfAnAgent sends sixty requests of one client, then one
// request of another. That one comes before the rest of the sixty, for any number of places.
func TestEditorDoesNotWaitForSixtyRequestsOfAnAgent(t *testing.T) {
	for _, active := range []int{1, 2, 8} {
		for _, at := range []int{1, 8, 41} {
			f, halts := halting(t, Options{Active: active}, 0, at)
			var all []<-chan error
			for i := range 60 {
				all = append(all, begin(f, t.Context(),
					Request{Client: "many", Prompt: make([]int32, 3), MaxTokens: new(4)}, i))
				if i == 0 {
					<-halts[0].there
				}
			}
			halts[0].free()
			<-halts[1].there
			queued := f.Queued()
			all = append(all, begin(f, t.Context(),
				Request{Client: "one", Prompt: make([]int32, 2), MaxTokens: new(4)}, queued+1))
			halts[1].free()
			ends(t, all...)
			// Those before it have places already, and two may have had their turn.
			if n := f.prompts(3, at+1, f.forward(2)); queued < 30 || n > active+2 {
				t.Errorf("%d places: with %d in the queue at forward %d, %d of them came before it: %v",
					active, queued, at, n, f.chain.Forwards)
			}
		}
	}
}

// TestShortQuestionIsReadWithinTwoChunksOfALongPrompt sends a short prompt while the engine reads
// 16k tokens, once from the same client and once from another. The short prompt begins after at
// most two chunks: the one under way and one more.
func TestShortQuestionIsReadWithinTwoChunksOfALongPrompt(t *testing.T) {
	for _, client := range []string{"same", "other"} {
		for at := range 12 {
			f, halts := halting(t, Options{}, at)
			long := begin(f, t.Context(), Request{Client: "same", Prompt: make([]int32, 16<<10),
				MaxTokens: new(1)}, 0)
			<-halts[0].there
			short := begin(f, t.Context(), Request{Client: client, Prompt: make([]int32, 9),
				MaxTokens: new(3)}, 1)
			halts[0].free()
			ends(t, short, long)
			if chunks := f.forward(9) - at; chunks > 2 {
				t.Errorf("from the %s client it arrived during chunk %d and was begun %d later",
					client, at, chunks)
			}
			if n := f.prompts(cache.MaxChunk, 0, len(f.chain.Forwards)); n != 32 {
				t.Errorf("the long prompt took %d chunks", n)
			}
		}
	}
}

// ended notes for each request the number of forwards at its end.
func (f *fixture) ended() *[]int {
	var list []int
	f.chain.Wrap = func(layer int, inner cache.Attention) cache.Attention {
		if layer > 0 {
			return inner
		}
		return &witness{inner, func(*mlx.Scope,
			cache.Cache) {
			list = append(list, len(f.chain.Forwards))
		}}
	}
	return &list
}

// TestSlowestOfEqualRequestsTakesAtMostTwiceTheMedian sends 24 equal requests. Where all of them
// have places, each one also takes part in every step.
func TestSlowestOfEqualRequestsTakesAtMostTwiceTheMedian(t *testing.T) {
	const clients, tokens = 24, 40
	for _, active := range []int{MaxActive, clients} {
		for _, prompt := range []int{5, 4 * 16} { // one chunk, and four
			f, halts := halting(t, Options{Active: active, Chunk: 16}, 0)
			list := f.ended()
			var mu sync.Mutex
			rounds := map[int]int{}
			done := func(st Stats) {
				mu.Lock()
				defer mu.Unlock()
				rounds[st.Rounds]++
			}
			var all []<-chan error
			for i := range clients {
				all = append(all, begin(f, t.Context(),
					Request{Client: fmt.Sprint(i), Prompt: make([]int32, prompt),
						MaxTokens: new(tokens), Done: done}, i))
				if i == 0 {
					<-halts[0].there
				}
			}
			halts[0].free()
			ends(t, all...)
			slices.Sort(*list)
			if slowest, median := (*list)[clients-1], (*list)[clients/2]; slowest > 2*median {
				t.Errorf("%d places, prompts of %d: the slowest has taken %d forwards, the median %d",
					active, prompt, slowest, median)
			}
			if len(rounds) != 1 || rounds[tokens-1] != clients {
				t.Errorf("%d places, prompts of %d: rounds of the requests: %v",
					active, prompt, rounds)
			}
			// A round has one chunk of a prompt and one step of all requests in flight.
			chunks := clients * ((prompt + 15) / 16)
			steps := len(f.chain.Forwards) - chunks
			if waves := (clients + active - 1) / active; steps > chunks+waves*(tokens+1) {
				t.Errorf("%d places, prompts of %d: %d steps", active, prompt, steps)
			}
			if active < clients {
				continue
			}
			// From the last chunk to the first end, each forward serves every request.
			last := 0
			for i, rows := range f.chain.Forwards {
				if len(rows) == 1 && rows[0] > 1 {
					last = i
				}
			}
			for i := last + 1; i < (*list)[0]; i++ {
				// the request that ends first needs no step for its last token
				if n := len(f.chain.Forwards[i]); n < clients-1 {
					t.Errorf("prompts of %d: forward %d serves %d requests", prompt, i, n)
				}
			}
		}
	}
}

// TestChatAndEmbeddingsTakeTurnsWhereOneFits gives the engine memory for one request at a time.
// Neither kind waits for more than one request of the other kind.
func TestChatAndEmbeddingsTakeTurnsWhereOneFits(t *testing.T) {
	bytes := func(n int) int64 { return int64(n) }
	for name, many := range map[string]bool{"one reading after requests": false,
		"one request after readings": true} {
		t.Run(name, func(t *testing.T) {
			f, halts := halting(t, Options{Chunk: 64, SequenceBytes: bytes, Room: 50}, 0)
			var all []<-chan error
			for i := range 12 {
				if many {
					all = append(all, beginEncode(f, "a", 40, i))
				} else {
					all = append(all, begin(f, t.Context(),
						Request{Client: "a", Prompt: make([]int32, 40-5), MaxTokens: new(5)}, i))
				}
				if i == 0 {
					<-halts[0].there
				}
			}
			if many {
				all = append(all, begin(f, t.Context(),
					Request{Client: "a", Prompt: make([]int32, 30), MaxTokens: new(10)}, 12))
			} else {
				all = append(all, beginEncode(f, "a", 30, 12))
			}
			halts[0].free()
			ends(t, all...)
			before := f.prompts(40, 1, f.forward(30)) + f.prompts(35, 1, f.forward(30))
			if before > 1 {
				t.Errorf("%d of the others came before it: %v", before, f.chain.Forwards)
			}
		})
	}
}

// TestChatStartsBesideAnyNumberOfEmbeddings expects that encode requests leave half of the places to
// requests.
func TestChatStartsBesideAnyNumberOfEmbeddings(t *testing.T) {
	f, halts := halting(t, Options{Active: 4, Chunk: 8}, 0, 3)
	var all []<-chan error
	for i := range 20 {
		all = append(all, beginEncode(f, "a", 80, i))
		if i == 0 {
			<-halts[0].there
		}
	}
	halts[0].free()
	<-halts[1].there
	queued := f.Queued()
	all = append(all, begin(f, t.Context(), Request{Client: "a", Prompt: make([]int32, 5),
		MaxTokens: new(1)}, queued+1))
	halts[1].free()
	ends(t, all...)
	if at := f.forward(5); at > 3+2 {
		t.Errorf("the prompt was read in forward %d: %v", at, f.chain.Forwards)
	}
}

// TestSearchIsAnsweredWhileLongAnswersHoldAllPlaces expects that the embeddings of a search need no
// place, even while other requests wait for one. They are read one after the other.
func TestSearchIsAnsweredWhileLongAnswersHoldAllPlaces(t *testing.T) {
	f, halts := halting(t, Options{Active: 2}, 0, 8)
	long := func(prompt, queued int) <-chan error {
		return begin(f, t.Context(), Request{Prompt: make([]int32, prompt), MaxTokens: new(60)},
			queued)
	}
	all := []<-chan error{long(20, 0)}
	<-halts[0].there
	all = append(all, long(20, 1))
	halts[0].free()
	<-halts[1].there
	all = append(all, long(21, 1), beginEncode(f, "search", 7, 2), beginEncode(f, "search", 9, 3))
	halts[1].free()
	ends(t, all...)
	for _, tokens := range []int{7, 9} {
		if at := f.forward(tokens); at > 8+6 {
			t.Errorf("the text of %d tokens was read in forward %d: %v",
				tokens, at, f.chain.Forwards)
		}
	}
	if at := f.forward(21); at < 40 {
		t.Errorf("the third answer began in forward %d, while two others held both places", at)
	}
}

// TestEndlessCompletionsDoNotKeepAChatWaiting lets short requests pass a long one that waits for
// room. The long one starts as soon as there is room, however many short ones wait.
func TestEndlessCompletionsDoNotKeepAChatWaiting(t *testing.T) {
	f, started, release := stopped(t, Options{Room: 30 + 8, Short: 5, ContextLength: 30, Active: 2})
	first := begin(f, t.Context(), Request{Client: "a", Prompt: make([]int32, 10)}, 0)
	<-started
	all := []<-chan error{first, begin(f, t.Context(),
		Request{Client: "b", Prompt: make([]int32, 6), MaxTokens: new(20)}, 1)}
	for i := range 40 {
		all = append(all, begin(f, t.Context(),
			Request{Client: fmt.Sprint(i), Prompt: make([]int32, 2), MaxTokens: new(3)}, i+2))
	}
	release()
	ends(t, all...)
	long := f.forward(6)
	if after := f.prompts(2, long, len(f.chain.Forwards)); after < 5 {
		t.Errorf("the long request began in forward %d, and %d of the short ones after it",
			long, after)
	}
}

// TestCompletionStartsWhileLongAnswersHoldAllPlaces expects that short requests have places of
// their own and take none from long ones.
func TestCompletionStartsWhileLongAnswersHoldAllPlaces(t *testing.T) {
	f, started, release := stopped(t, Options{Room: 1000, Short: 10, ContextLength: 400, Active: 2})
	long := func(client string, prompt, queued int) <-chan error {
		return begin(f, t.Context(), Request{Client: client, Prompt: make([]int32, prompt),
			MaxTokens: new(40)}, queued)
	}
	all := []<-chan error{long("a", 20, 0)}
	<-started
	all = append(all, long("b", 20, 1), long("c", 21, 2))
	for i := range 30 {
		all = append(all, begin(f, t.Context(),
			Request{Client: fmt.Sprint(i), Prompt: make([]int32, 3), MaxTokens: new(3)}, i+3))
	}
	release()
	ends(t, all...)
	if at := f.forward(3); at > 4 {
		t.Errorf("the first short prompt was read in forward %d", at)
	}
	third := f.forward(21)
	if after := f.prompts(3, third, len(f.chain.Forwards)); third < 40 || after < 5 {
		t.Errorf("the third long prompt was read in forward %d, and %d short ones after it: %v",
			third, after, f.chain.Forwards)
	}
}
