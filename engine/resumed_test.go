package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/sample"
)

// TestResumedAnswerEqualsTheUncutOne cuts answers at every place and resumes them. Tokens, texts
// and the end equal the uncut answer's, since every rule for them counts the tokens before the cut.
func TestResumedAnswerEqualsTheUncutOne(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Request
		stop bool // ends at a text that three tokens inside the answer make
	}{
		{"greedy", Request{}, false},
		{"sampled", Request{Sampling: sample.Params{Temperature: 0.8, TopK: 20, TopP: 0.95}}, false},
		{"penalties", Request{Sampling: sample.Params{Temperature: 1, RepetitionPenalty: 1.3, FrequencyPenalty: 0.4, PresencePenalty: 0.2}}, false},
		{"stop text", Request{Sampling: sample.Params{Temperature: 1}}, true},
	} {
		for _, way := range []Speculation{{Drafter: None}, {Depth: new(5), Rollback: Trim},
			{Depth: new(5), Rollback: Undo}} {
			for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
				t.Run(fmt.Sprintf("%s, %s %s, %s", c.name, way.Drafter, way.Rollback, layout),
					func(t *testing.T) {
						r := c.r
						r.Prompt, r.MaxTokens, r.Seed, r.IgnoreEOS = []int32{1, 2, 3, 4, 5}, new(40),
							new(uint64(7)), true
						f, d, all := scripted(t, r,
							Options{Chunk: 8, Checkpoints: 1 << 30, Layout: layout})
						d.Wrong = func(round, n int) int { return round % (n + 1) }
						if c.stop {
							r.Stop = []string{f.tok.Decode(ids(all[18:21]), true)}
							r.Speculation.Drafter = None
							all, _, _ = f.run(t, r)
							if len(all) > 21 || all[len(all)-1].Finish != FinishStop {
								t.Fatalf("%q does not end the answer: %d tokens", r.Stop, len(all))
							}
						}
						r.Speculation = way
						for at := range len(all) {
							r.Generated = ids(all[:at])
							got, _, stats := f.run(t, r)
							sameTokens(t, fmt.Sprintf("cut after %d tokens", at), got, all)
							if stats.CompletionTokens != len(all) ||
								stats.CachedTokens > len(r.Prompt) {
								t.Errorf("cut after %d tokens: %d are reported as generated, %d of the prompt restored",
									at, stats.CompletionTokens, stats.CachedTokens)
							}
							f.sound(t)
						}
					})
			}
		}
	}
}

// TestRuneAcrossTheCutStaysWhole cuts an answer inside a rune. The rune comes out whole, with the
// token that completes it.
func TestRuneAcrossTheCutStaysWhole(t *testing.T) {
	f := newFixture(t, script("aé€z"), Options{})
	r := Request{Prompt: []int32{'a'}, MaxTokens: new(6)}
	all, _, _ := f.run(t, r)
	for at := range len(all) {
		r.Generated = ids(all[:at])
		got, text, _ := f.run(t, r)
		if text != "é€z" {
			t.Errorf("cut after %d bytes: %q", at, text)
		}
		sameTokens(t, fmt.Sprintf("cut after %d bytes", at), got, all)
	}
}

// TestResumedAfterItsEndEvaluatesNothing resumes an answer that already holds its end. The engine
// returns the answer again without a forward.
func TestResumedAfterItsEndEvaluatesNothing(t *testing.T) {
	f := newFixture(t, script("abcdefghij"), Options{Checkpoints: 1 << 30}, 'f')
	before := []int32("bcdefghi")
	for _, c := range []struct {
		name   string
		r      Request
		tokens int
		text   string
		finish Finish
	}{
		{"eos", Request{}, 5, "bcde", FinishStop},
		{"eos that is no end", Request{IgnoreEOS: true, MaxTokens: new(8)}, 8, "bcdefghi", FinishLength},
		{"stop text", Request{Stop: []string{"de"}}, 4, "bc", FinishStop},
		{"limit", Request{IgnoreEOS: true, MaxTokens: new(8), Stop: []string{"ij"}}, 8, "bcdefghi", FinishLength},
	} {
		forwards := len(f.chain.Forwards)
		c.r.Prompt, c.r.Generated = []int32{'a'}, before
		got, text, stats := f.run(t, c.r)
		if len(got) != c.tokens {
			t.Fatalf("%s: len(got) = %v, want %v", c.name, len(got), c.tokens)
		}
		if text != c.text {
			t.Errorf("%s: text = %v, want %v", c.name, text, c.text)
		}
		if got[len(got)-1].Finish != c.finish {
			t.Errorf("%s: got[len(got)-1].Finish = %v, want %v",
				c.name, got[len(got)-1].Finish, c.finish)
		}
		if stats.Finish != c.finish {
			t.Errorf("%s: stats.Finish = %v, want %v", c.name, stats.Finish, c.finish)
		}
		if stats.CompletionTokens != c.tokens {
			t.Errorf("%s: stats.CompletionTokens = %v, want %v",
				c.name, stats.CompletionTokens, c.tokens)
		}
		if n := len(f.chain.Forwards) - forwards; n > 0 {
			t.Errorf("%s: %d forwards", c.name, n)
		}
	}
}

// TestInvalidResumedRequestsAreRefused resumes a scored prompt, and an answer with more generated
// tokens than the limit.
func TestInvalidResumedRequestsAreRefused(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{ContextLength: 16})
	for _, c := range []struct {
		name string
		r    Request
		text string
	}{
		{"logprobs of the prompt", Request{PromptLogprobs: true}, "a scored prompt cannot have generated tokens after it"},
		{"more than allowed", Request{MaxTokens: new(2)}, "3 tokens were generated before, and 2 are allowed"},
		{"more than the context holds", Request{Prompt: make([]int32, 14)}, "3 tokens were generated before, and 2 are allowed"},
		{"foreign id", Request{Generated: []int32{1, 8}}, "id 8"},
	} {
		if c.r.Prompt == nil {
			c.r.Prompt = []int32{0}
		}
		if c.r.Generated == nil {
			c.r.Generated = []int32{1, 2, 3}
		}
		var got error
		for _, err := range f.Generate(t.Context(), c.r) {
			got = err
		}
		if e, ok := errors.AsType[*Error](got); !ok || e.Code != CodeInvalid ||
			!strings.Contains(e.Message, c.text) {
			t.Errorf("%s: %v, want %q", c.name, got, c.text)
		}
	}
}

// TestPredictionIsFoundAgainAfterACut resumes an answer with a prediction. Finding the place in it
// again costs one block at most.
func TestPredictionIsFoundAgainAfterACut(t *testing.T) {
	text := counting(0, 200)
	f := newFixture(t, enginetest.Cycle(50), Options{Drafters: []draft.Drafter{draft.Prediction{}}})
	r := Request{Prompt: text[:10], MaxTokens: new(100), Prediction: text[10:110],
		Speculation: Speculation{Depth: new(8)}}
	for _, at := range []int{0, 1, 40, 98} {
		r.Generated = text[10 : 10+at]
		got, _, stats := f.run(t, r)
		if !slices.Equal(ids(got), text[10:110]) {
			t.Errorf("cut after %d tokens: %v", at, ids(got))
		}
		if wrong := stats.Drafted - stats.Accepted; wrong > 8 { // one block to find the place
			t.Errorf("cut after %d tokens: %d drafts were wrong", at, wrong)
		}
	}
}
