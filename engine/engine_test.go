package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
}

func newFixture(t *testing.T, table [][]float32, opts Options, eos ...int32) *fixture {
	t.Helper()
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{thread: th}
	if err := th.Do(context.Background(), func(s *mlx.Scope) error {
		f.chain = enginetest.NewChain(s, table, eos...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	f.Engine = New(th, f.chain, enginetest.ByteTokenizer(t), opts)
	t.Cleanup(func() {
		f.Close()
		th.Do(context.Background(), func(*mlx.Scope) error { f.chain.Free(); return nil })
		th.Close()
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

// script returns a table in which the bytes of text follow one another; every
// byte may occur once only.
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
			t.Errorf("prompt of %d: %d tokens, last %+v, stats %+v", n, len(tokens), tokens[len(tokens)-1], stats)
		}
	}
}

// TestCachesHoldWhatWasRead checks the invariant every way a generation can
// end: the step in flight is rolled back and the caches hold the tokens before
// the last one.
func TestCachesHoldWhatWasRead(t *testing.T) {
	text := "abcdefghijkl"
	for _, c := range []struct {
		name string
		r    Request
		eos  []int32
		want string
	}{
		{"limit", Request{MaxTokens: new(5)}, nil, "bcdef"},
		{"eos", Request{}, []int32{'g'}, "bcdef"},
		{"stop", Request{Stop: []string{"fg"}}, nil, "bcde"},
		{"cancel", Request{}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, script(text), Options{}, c.eos...)
			c.r.Prompt = []int32{'a'}
			retired := 0
			f.retire = func(s *mlx.Scope, task *task) {
				retired++
				for i, cc := range task.caches {
					if cc.Offset() != task.fed || task.fed > len(task.tokens) {
						t.Errorf("cache %d stands at %d, fed %d of %d tokens", i, cc.Offset(), task.fed, len(task.tokens))
					}
				}
				got, err := mlx.Read[float32](s, s.Contiguous(s.Slice(task.caches[0].Arrays()[0], 2, 0, task.fed)))
				if err != nil {
					t.Error(err)
				}
				for i, v := range got {
					if int32(v) != task.tokens[i] {
						t.Errorf("row %d holds token %v, want %d", i, v, task.tokens[i])
					}
				}
			}
			out := ""
			for tok, err := range f.Generate(t.Context(), c.r) {
				if err != nil {
					t.Fatal(err)
				}
				out += tok.Text
				if c.name == "cancel" && len(out) == 3 {
					break
				}
			}
			if c.name != "cancel" && out != c.want {
				t.Errorf("text %q, want %q", out, c.want)
			}
			if retired != 1 {
				t.Errorf("retired %d times", retired)
			}
		})
	}
}

func TestStopTextAcrossTokens(t *testing.T) {
	f := newFixture(t, script("abcdefghij"), Options{})
	for _, c := range []struct {
		stop []string
		want string
	}{
		{[]string{"def"}, "bc"},
		{[]string{"xyz", "ef"}, "bcd"},
		{[]string{"cz", "gh"}, "bcdef"},
		{[]string{"hz"}, "bcdefghij"},
	} {
		tokens, text, stats := f.run(t, Request{Prompt: []int32{'a'}, MaxTokens: new(9), Stop: c.stop})
		if text != c.want {
			t.Errorf("stop %q: %q, want %q", c.stop, text, c.want)
		}
		finish := FinishStop
		if len(text) == 9 {
			finish = FinishLength
		}
		if last := tokens[len(tokens)-1]; last.Finish != finish || stats.Finish != finish {
			t.Errorf("stop %q: finish %q, stats %q, want %q", c.stop, last.Finish, stats.Finish, finish)
		}
	}
}

func TestTextNeverSplitsARune(t *testing.T) {
	f := newFixture(t, script("aé€z"), Options{})
	tokens, text, _ := f.run(t, Request{Prompt: []int32{'a'}, MaxTokens: new(6)})
	if text != "é€z" {
		t.Errorf("text %q", text)
	}
	for _, tok := range tokens {
		if strings.ContainsRune(tok.Text, '\uFFFD') {
			t.Errorf("token %d has text %q", tok.ID, tok.Text)
		}
	}
	// Cut inside the rune, the rest comes out as the replacement character.
	if _, text, _ := f.run(t, Request{Prompt: []int32{'a'}, MaxTokens: new(1)}); text != "\uFFFD" {
		t.Errorf("cut rune gives %q", text)
	}
}

func TestSeedFixesTheSample(t *testing.T) {
	flat := make([][]float32, 20)
	for i := range flat {
		flat[i] = make([]float32, 20)
	}
	f := newFixture(t, flat, Options{Chunk: 3})
	r := Request{Prompt: []int32{1, 2, 3, 4, 5}, MaxTokens: new(40), Sampling: sample.Params{Temperature: 1}, Seed: new(uint64(7))}
	a, _, _ := f.run(t, r)
	b, _, _ := f.run(t, r)
	if !slices.Equal(ids(a), ids(b)) {
		t.Errorf("the same seed gave %v and %v", ids(a), ids(b))
	}
	// The draw depends on seed and absolute position alone, so a prompt that
	// already holds the first ten goes on with the eleventh.
	longer := r
	longer.Prompt = append(slices.Clone(r.Prompt), ids(a)[:10]...)
	longer.MaxTokens = new(30)
	if c, _, _ := f.run(t, longer); !slices.Equal(ids(c), ids(a)[10:]) {
		t.Errorf("continued %v, want %v", ids(c), ids(a)[10:])
	}
	r.Seed = new(uint64(8))
	if d, _, _ := f.run(t, r); slices.Equal(ids(a), ids(d)) {
		t.Error("another seed gave the same tokens")
	}
	r.Seed = nil
	_, _, s1 := f.run(t, r)
	_, _, s2 := f.run(t, r)
	if s1.Seed == s2.Seed {
		t.Error("two requests without a seed drew the same one")
	}
}

func TestOneSyncPerStep(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{})
	_, _, stats := f.run(t, Request{Prompt: []int32{0}, MaxTokens: new(20), Logprobs: true, TopLogprobs: 3})
	if stats.Syncs > 20 {
		t.Errorf("%d syncs for 20 tokens", stats.Syncs)
	}
	if stats.Rounds != 19 {
		t.Errorf("%d rounds for 20 tokens, want 19: the first comes from the prompt", stats.Rounds)
	}
}

func TestLogprobs(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{Chunk: 3})
	tokens, _, _ := f.run(t, Request{
		Prompt: []int32{0, 1, 5, 6}, MaxTokens: new(2),
		Logprobs: true, TopLogprobs: 3, PromptLogprobs: true,
	})
	if len(tokens) != 6 || !tokens[3].Prompt || tokens[4].Prompt {
		t.Fatalf("tokens %+v", tokens)
	}
	const likely, unlikely = -0.00031773, -10.000318
	for i, want := range []float64{0, likely, unlikely, likely, likely, likely} {
		lp := tokens[i].Logprobs
		if i == 0 {
			if lp != nil {
				t.Error("the first token has a log-probability")
			}
			continue
		}
		if d := float64(lp.Logprob) - want; d > 1e-5 || d < -1e-5 {
			t.Errorf("token %d has %v, want %v", i, lp.Logprob, want)
		}
		if len(lp.Top) != 3 || lp.Top[0].Logprob < lp.Top[1].Logprob || lp.Top[1].ID > lp.Top[2].ID {
			t.Errorf("token %d: top %v is not descending with ties by id", i, lp.Top)
		}
	}
}

func TestScoringOnly(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{})
	tokens, _, stats := f.run(t, Request{Prompt: []int32{0, 1, 2}, MaxTokens: new(0), PromptLogprobs: true})
	if len(tokens) != 3 || stats.CompletionTokens != 0 || stats.Finish != FinishLength {
		t.Errorf("tokens %+v, stats %+v", tokens, stats)
	}
}

func TestRefusals(t *testing.T) {
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

func TestCancelStopsWithinOneRound(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	var stats Stats
	for _, err := range f.Generate(ctx, Request{Prompt: []int32{0}, Done: func(s Stats) { stats = s }}) {
		if err != nil {
			last = err
			break
		}
		if n++; n == 5 {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) || n != 5 {
		t.Errorf("error %v after %d tokens", last, n)
	}
	if stats.Finish != "" || stats.CompletionTokens < 5 {
		t.Errorf("stats %+v", stats)
	}
	// The engine is free for the next one.
	if tokens, _, _ := f.run(t, Request{Prompt: []int32{0}, MaxTokens: new(3)}); len(tokens) != 3 {
		t.Errorf("next request gave %d tokens", len(tokens))
	}
}

func TestPanicFailsOneRequestOnly(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{})
	f.chain.OnForward = func(n int) {
		if n == 3 {
			f.chain.OnForward = nil
			panic("boom")
		}
	}
	var got error
	for _, err := range f.Generate(t.Context(), Request{Prompt: []int32{0}, MaxTokens: new(9)}) {
		got = err
	}
	if e, ok := errors.AsType[*Error](got); !ok || e.Code != CodeInternal {
		t.Fatalf("got %v", got)
	}
	if tokens, _, _ := f.run(t, Request{Prompt: []int32{0}, MaxTokens: new(9)}); len(tokens) != 9 {
		t.Errorf("next request gave %d tokens", len(tokens))
	}
}

// TestShortRequestIsNotStuckBehindALongPrompt starts a prompt of 16 chunks and
// then a short one, and counts the chunks of the long one in between.
func TestShortRequestIsNotStuckBehindALongPrompt(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{})
	started := make(chan struct{})
	release := make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == 2 {
			close(started)
			<-release
		}
	}
	long := make(chan error, 1)
	go func() {
		var last error
		for _, err := range f.Generate(context.Background(), Request{Prompt: make([]int32, 16*512), MaxTokens: new(1)}) {
			last = err
		}
		long <- last
	}()
	<-started
	short := make(chan int, 1)
	go func() {
		for _, err := range f.Generate(context.Background(), Request{Prompt: []int32{3}, MaxTokens: new(1)}) {
			if err != nil {
				t.Error(err)
			}
			short <- 0
		}
	}()
	for f.Queued() == 0 {
		time.Sleep(time.Millisecond)
	}
	close(release)
	<-short
	if err := <-long; err != nil {
		t.Fatal(err)
	}
	// Forwards: chunks of 512 are the long prompt's, 1 the short one's.
	at := slices.IndexFunc(f.chain.Forwards, func(rows []int) bool { return rows[0] == 1 })
	if at < 0 || at-2 > 3 {
		t.Errorf("the short prompt was evaluated in forward %d, it arrived during forward 2", at)
	}
}

func TestRequestsShareForwards(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(50), Options{})
	results := make(chan string, 4)
	for i := range 4 {
		go func() {
			var got []int32
			for tok, err := range f.Generate(context.Background(), Request{Prompt: []int32{int32(i * 10)}, MaxTokens: new(100)}) {
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

func TestQueueLimit(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{Queue: 2, Active: 1})
	release := make(chan struct{})
	started := make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == 0 {
			close(started)
			<-release
		}
	}
	done := make(chan error, 3)
	start := func() {
		go func() {
			var last error
			for _, err := range f.Generate(context.Background(), Request{Prompt: []int32{0}, MaxTokens: new(2)}) {
				last = err
			}
			done <- last
		}()
	}
	start()
	<-started
	start()
	start()
	for f.Queued() < 2 {
		time.Sleep(time.Millisecond)
	}
	var got error
	for _, err := range f.Generate(t.Context(), Request{Prompt: []int32{0}}) {
		got = err
	}
	if e, ok := errors.AsType[*Error](got); !ok || e.Code != CodeQueueFull {
		t.Errorf("fourth request: %v", got)
	}
	close(release)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
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

func TestMemoryReturnsAfterRequests(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{Chunk: 8})
	once := func(i int) {
		r := Request{Prompt: make([]int32, 1+i%20), MaxTokens: new(5), Sampling: sample.Params{Temperature: 1, TopK: 5, RepetitionPenalty: 1.1}}
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

var _ lm.Model = (*enginetest.Chain)(nil)
