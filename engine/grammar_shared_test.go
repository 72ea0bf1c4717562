package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/sample"
)

// An ending is the result of a request: its tokens, figures and error.
type ending struct {
	tokens []Token
	stats  Stats
	err    error
}

func (f *fixture) end(r Request) (out ending) {
	r.Done = func(s Stats) { out.stats = s }
	for tok, err := range f.Generate(context.Background(), r) {
		if out.err = err; err == nil {
			out.tokens = append(out.tokens, tok)
		}
	}
	return out
}

// together answers requests at once: the first is held until all others wait.
func (f *fixture) together(list []Request) []ending {
	first := len(f.chain.Forwards)
	started, release := make(chan struct{}), make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == first {
			close(started)
			<-release
		}
	}
	out, done := make([]ending, len(list)), make(chan int)
	for i, r := range list {
		if i == 1 {
			<-started
		}
		go func() { out[i] = f.end(r); done <- i }()
	}
	f.waitQueued(len(list) - 1)
	close(release)
	for range list {
		<-done
	}
	return out
}

// TestRequestsUnderGrammarsShareSteps expects that requests under grammars share their steps with
// others. Their output is the same as alone, down to the log-probabilities. A request that ends, or
// whose grammar fails, ends alone.
func TestRequestsUnderGrammarsShareSteps(t *testing.T) {
	thirds := func(text []int32, id int32) bool { return (int(id)+len(text)/7)%3 == 0 }
	for _, temperature := range []float64{0, 1} {
		for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
			list := func() []Request {
				rs := []Request{
					{}, {Grammar: &sieve{vocab: 50, forbid: thirds}}, {Grammar: &sieve{vocab: 50, length: 25}},
					{Sampling: sample.Params{RepetitionPenalty: 1.2}}, {Grammar: &sieve{vocab: 50, fails: 12}}, {Grammar: &sieve{vocab: 50}, Stop: []string{"\x14"}},
					{Grammar: &sieve{vocab: 50, forbid: thirds}, Sampling: sample.Params{FrequencyPenalty: 0.7, TopK: 12}},
				}
				for i := range rs {
					r := &rs[i]
					r.Prompt, r.MaxTokens, r.Seed, r.Logprobs, r.TopLogprobs = counting(7*i, 5+9*i),
						new(60), new(uint64(i)), true, 2
					r.Sampling.Temperature = temperature
				}
				return rs
			}
			f := recalling(t, layout, Options{})
			got := f.together(list())
			if !slices.ContainsFunc(f.chain.Forwards,
				func(rows []int) bool { return len(rows) == len(got) && slices.Max(rows) == 1 }) {
				t.Errorf("no step served all: %v", f.chain.Forwards)
			}
			f.sound(t)
			for i, r := range list() {
				what := fmt.Sprintf("temperature %v, %s, request %d", temperature, layout, i)
				want := recalling(t, layout, Options{}).end(r)
				sameTokens(t, what, got[i].tokens, want.tokens)
				if fmt.Sprint(got[i].err) != fmt.Sprint(want.err) ||
					(i == 4) != errors.Is(got[i].err, errSieve) ||
					got[i].stats.Finish != want.stats.Finish {
					t.Errorf("%s: the request ends with %q, %v; alone it ends with %q, %v",
						what, got[i].stats.Finish, got[i].err, want.stats.Finish, want.err)
				}
				if i == 4 && len(got[i].tokens) != 11 || i == 2 && len(got[i].tokens) != 25 {
					t.Errorf("%s: %d tokens", what, len(got[i].tokens))
				}
				if most := got[i].stats.Rounds + 1; got[i].stats.Syncs > most {
					t.Errorf("%s: %d syncs in %d rounds",
						what, got[i].stats.Syncs, got[i].stats.Rounds)
				}
			}
		}
	}
}

// TestGrammarStepsFreeTheirMemory expects the same active memory after each run of steps under a
// grammar.
func TestGrammarStepsFreeTheirMemory(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(50), Options{})
	once := func() int64 {
		f.together([]Request{
			{Prompt: counting(0, 9), MaxTokens: new(30)},
			{Prompt: counting(3, 9), MaxTokens: new(20), Grammar: &sieve{vocab: 50}, Logprobs: true},
			{Prompt: counting(5, 9), MaxTokens: new(20), Grammar: &sieve{vocab: 50, fails: 7}},
		})
		return f.thread.Memory().Active
	}
	before := once()
	if after := once(); after != before {
		t.Errorf("%d bytes are active, %d the time before", after, before)
	}
}

// TestGrammarGoesFromStepsToBlocksAndBack moves a request under a grammar from steps to blocks and
// back, beside others. Its output is the same.
func TestGrammarGoesFromStepsToBlocksAndBack(t *testing.T) {
	text := counting(0, 400)
	for _, rollback := range []Rollback{Trim, Undo} {
		d := &enginetest.Scripted{Text: text, Vocab: 50,
			Wrong: func(round, n int) int { return round % (n + 1) }}
		f := newFixture(t, enginetest.Cycle(50), Options{Drafters: []draft.Drafter{d}})
		var list []Request
		for i, depth := range []*int{nil, new(0), new(3)} {
			m := &sieve{vocab: 50, length: 70 + i}
			list = append(list, Request{Prompt: text[:20+i], MaxTokens: new(200), Grammar: m,
				Speculation: Speculation{Depth: depth, Rollback: rollback}})
		}
		for i, got := range f.together(list) {
			if want := text[20+i : 90+2*i]; got.err != nil ||
				!slices.Equal(ids(got.tokens), want) || got.stats.Finish != FinishStop {
				t.Errorf("%s, request %d: %v, %v; want %v",
					rollback, i, ids(got.tokens), got.err, want)
			}
		}
	}
}
