package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/sample"
)

func TestStopTextAcrossTokensEndsTheAnswer(t *testing.T) {
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
		tokens, text, stats := f.run(t, Request{Prompt: []int32{'a'}, MaxTokens: new(9),
			Stop: c.stop})
		if text != c.want {
			t.Errorf("stop %q: %q, want %q", c.stop, text, c.want)
		}
		finish := FinishStop
		if len(text) == 9 {
			finish = FinishLength
		}
		last := tokens[len(tokens)-1]
		if hit := finish == FinishStop; slices.Contains(c.stop, last.Stop) != hit || !hit &&
			last.Stop != "" {
			t.Errorf("stop %q: ended by %q", c.stop, last.Stop)
		}
		if last.Finish != finish || stats.Finish != finish {
			t.Errorf("stop %q: finish %q, stats %q, want %q",
				c.stop, last.Finish, stats.Finish, finish)
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
	// An answer that is cut inside the rune ends with the replacement character.
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
	r := Request{Prompt: []int32{1, 2, 3, 4, 5}, MaxTokens: new(40),
		Sampling: sample.Params{Temperature: 1}, Seed: new(uint64(7))}
	a, _, _ := f.run(t, r)
	b, _, _ := f.run(t, r)
	if !slices.Equal(ids(a), ids(b)) {
		t.Errorf("the same seed gave %v and %v", ids(a), ids(b))
	}
	// A draw depends on the seed and the absolute position alone. So a prompt that holds the first
	// ten tokens goes on with the eleventh.
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

func TestLogprobsOfPromptAndAnswerAreReported(t *testing.T) {
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
		if len(lp.Top) != 3 || lp.Top[0].Logprob < lp.Top[1].Logprob ||
			lp.Top[1].ID > lp.Top[2].ID {
			t.Errorf("token %d: top %v is not descending with ties by id", i, lp.Top)
		}
	}
}

func TestPromptIsScoredWithoutGeneration(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{})
	tokens, _, stats := f.run(t, Request{Prompt: []int32{0, 1, 2}, MaxTokens: new(0),
		PromptLogprobs: true})
	if len(tokens) != 3 || stats.CompletionTokens != 0 || stats.Finish != FinishLength {
		t.Errorf("tokens %+v, stats %+v", tokens, stats)
	}
}

func TestStopTextCompletedByTheEnd(t *testing.T) {
	// The last byte begins a rune that never ends. The flush turns it into U+FFFD, which completes
	// the stop text.
	f := newFixture(t, script("ab\xc3"), Options{})
	_, text, stats := f.run(t, Request{Prompt: []int32{'a'}, MaxTokens: new(2),
		Stop: []string{"b\uFFFD"}})
	if text != "" || stats.Finish != FinishStop {
		t.Errorf("text %q, finish %q", text, stats.Finish)
	}
}

func TestTextGoesOnFromThePrompt(t *testing.T) {
	f := newFixture(t, script("\xc3\xa9z"), Options{})
	if _, text, _ := f.run(t, Request{Prompt: []int32{0xc3}, MaxTokens: new(2)}); text != "éz" {
		t.Errorf("text %q: the prompt ended inside a rune that the first token completes", text)
	}
}

func TestEOSAndSpecialTokensFollowTheRequest(t *testing.T) {
	table := script("abc")
	table['c'] = make([]float32, 257)
	table['c'][256] = 10 // <|end|>
	table[256]['z'] = 10
	for _, c := range []struct {
		r      Request
		want   string
		finish Finish
	}{
		{Request{}, "bc", FinishStop},
		{Request{Special: []int32{256}}, "bc", FinishStop},
		{Request{IgnoreEOS: true, MaxTokens: new(4)}, "bcz", FinishLength},
		{Request{IgnoreEOS: true, Special: []int32{'b'}, MaxTokens: new(4)}, "bcz", FinishLength},
		{Request{IgnoreEOS: true, Special: []int32{256}, MaxTokens: new(4)}, "bc<|end|>z", FinishLength},
	} {
		f := newFixture(t, table, Options{}, 256)
		c.r.Prompt = []int32{'a'}
		_, text, stats := f.run(t, c.r)
		if text != c.want || stats.Finish != c.finish {
			t.Errorf("ignore %v, keep %v: %q, %q", c.r.IgnoreEOS, c.r.Special, text, stats.Finish)
		}
	}
}

// TestPenaltiesCountTokensInFlight expects no token twice. The likeliest token repeats if penalties
// leave out the tokens that are not read yet.
func TestPenaltiesCountTokensInFlight(t *testing.T) {
	table := make([][]float32, 20)
	for i := range table {
		table[i] = make([]float32, 20)
		for j := range table[i] {
			table[i][j] = float32(20 - j)
		}
	}
	f := newFixture(t, table, Options{})
	tokens, _, _ := f.run(t, Request{Prompt: []int32{7}, MaxTokens: new(8),
		Sampling: sample.Params{PresencePenalty: 100}})
	if got := ids(tokens); !slices.Equal(got, []int32{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("drew %v", got)
	}
}

func TestLogprobsAreTheModelsOwn(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{})
	r := Request{Prompt: []int32{0}, MaxTokens: new(3), Logprobs: true, TopLogprobs: 2}
	plain, _, _ := f.run(t, r)
	r.Sampling = sample.Params{Temperature: 0.1, TopK: 1,
		LogitBias: map[int32]float32{1: 5, 2: 5, 3: 5}, PresencePenalty: 1}
	bent, _, _ := f.run(t, r)
	for i := range plain {
		if plain[i].Logprobs.Logprob != bent[i].Logprobs.Logprob ||
			!slices.Equal(plain[i].Logprobs.Top, bent[i].Logprobs.Top) {
			t.Errorf("token %d: %+v, processed %+v", i, plain[i].Logprobs, bent[i].Logprobs)
		}
	}
}

// A request reports that its reading begins before the first chunk is read, which may take seconds.
func TestEncodeIsToldBeforeItsFirstChunk(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{Chunk: 4})
	begun := make(chan int, 1)
	f.chain.OnForward = func(n int) {
		if n > 0 {
			return
		}
		select {
		case n := <-begun:
			if n != 0 {
				t.Errorf("%d tokens were restored", n)
			}
		case <-time.After(20 * time.Second):
			t.Error("the first chunk is read, and nothing was reported")
		}
	}
	f.run(t, Request{Prompt: make([]int32, 3), MaxTokens: new(1),
		Restored: func(tokens int) { begun <- tokens }})
}

// A request reports that its restoring begins, which may take seconds, before that makes its caches.
func TestRestoringIsToldBeforeItIsDone(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{Checkpoints: 1 << 20})
	restoring, watched := make(chan bool, 1), false
	f.chain.Wrap = func(_ int, c cache.Attention) cache.Attention {
		if watched {
			return c
		}
		watched = true
		select {
		case <-restoring:
		case <-time.After(20 * time.Second):
			t.Error("the caches are made, and nothing was reported")
		}
		return c
	}
	f.run(t, Request{Prompt: make([]int32, 3), MaxTokens: new(1), Restoring: func() { restoring <- true }})
	if !watched {
		t.Error("no caches were made")
	}
}

func TestProgressRisesToTheWholePrompt(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{Chunk: 4})
	last := 0
	f.run(t, Request{Prompt: make([]int32, 10), MaxTokens: new(1), Progress: func(done, total int) {
		if done <= last || total != 10 {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
	}})
	if last != 10 {
		t.Errorf("progress ended at %d of 10", last)
	}
}
