package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/sample"
)

// damagedAfter is a cycle whose logits after the token at are spoilt.
func damagedAfter(at int, spoil func(row []float32)) [][]float32 {
	table := enginetest.Cycle(50)
	spoil(table[at])
	return table
}

var damages = map[string]func(row []float32){
	"all NaN": func(row []float32) {
		for i := range row {
			row[i] = float32(math.NaN())
		}
	},
	"one NaN":         func(row []float32) { row[17] = float32(math.NaN()) },
	"the last is NaN": func(row []float32) { row[len(row)-1] = float32(math.NaN()) },
	"one Infinity":    func(row []float32) { row[17] = float32(math.Inf(1)) },
	"all minus Infinity": func(row []float32) {
		for i := range row {
			row[i] = float32(math.Inf(-1))
		}
	},
}

// generate collects the ids of a generation and its error.
func (f *fixture) generate(t *testing.T, r Request) (got []int32, failed error) {
	t.Helper()
	for tok, err := range f.Generate(t.Context(), r) {
		if err != nil {
			return got, err
		}
		got = append(got, tok.ID)
	}
	return got, nil
}

func wantNoNumbers(t *testing.T, what string, err error) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != CodeNoNumbers || !strings.Contains(e.Message, "computes no numbers") {
		t.Errorf("%s: got %v, want that the model computes no numbers", what, err)
	}
}

// TestDamagedModelSaysThatItComputesNoNumbers expects the tokens before the first row without
// numbers, then an error, however the tokens are chosen. The next request is served.
func TestDamagedModelSaysThatItComputesNoNumbers(t *testing.T) {
	plain := Speculation{Depth: new(0)}
	text := make([]int32, 60)
	for i := range text {
		text[i] = int32(i % 50)
	}
	for name, spoil := range damages {
		for _, at := range []int{0, 6} {
			scripted := &enginetest.Scripted{Text: text, Vocab: 50}
			f := newFixture(t, damagedAfter(at, spoil), Options{
				Drafters: []draft.Drafter{scripted}})
			for how, r := range map[string]Request{
				"greedy":    {Speculation: plain},
				"sampled":   {Speculation: plain, Sampling: sample.Params{Temperature: 1e-3, TopP: 0.9}},
				"top-k":     {Speculation: plain, Sampling: sample.Params{Temperature: 1e-3, TopK: 5, MinP: 0.1}},
				"penalised": {Speculation: plain, Sampling: sample.Params{RepetitionPenalty: 1.1}},
				"logprobs":  {Speculation: plain, Logprobs: true, TopLogprobs: 3},
				"exact":     {Speculation: Speculation{Depth: new(4), Exact: true}},
				"drafted":   {Speculation: Speculation{Depth: new(4)}},
				"rejection": {Speculation: Speculation{Depth: new(3), Rule: Rejection}, Sampling: sample.Params{Temperature: 1e-3}},
				"undone":    {Speculation: Speculation{Depth: new(3), Rollback: Undo}},
			} {
				what := fmt.Sprintf("%s after %d, %s", name, at, how)
				r.Prompt, r.MaxTokens, r.IgnoreEOS = []int32{0}, new(30), true
				got, err := f.generate(t, r)
				wantNoNumbers(t, what, err)
				if want := text[1 : at+1]; !slices.Equal(got, want) {
					t.Errorf("%s: tokens %v before it, want %v", what, got, want)
				}
			}
			// The rows from 20 on are sound.
			got, err := f.generate(t, Request{Prompt: []int32{20}, MaxTokens: new(5)})
			if err != nil || !slices.Equal(got, []int32{21, 22, 23, 24, 25}) {
				t.Errorf("%s: then tokens %v, %v", name, got, err)
			}
			r := Request{Prompt: text[:10], PromptLogprobs: true, Logprobs: true}
			_, err = f.generate(t, r)
			wantNoNumbers(t, name+", scored prompt", err)
		}
	}
}

// TestDamagedModelReadsNoTexts expects the same of embeddings and of the scores of rerankers.
func TestDamagedModelReadsNoTexts(t *testing.T) {
	for name, spoil := range damages {
		f := newFixture(t, damagedAfter(6, spoil), Options{Chunk: 8})
		for _, r := range []EncodeRequest{{Pooling: lm.PoolLast}, {Pooling: lm.PoolFirst},
			{Pooling: lm.PoolMean}, {Logits: []int32{17, 49}}} {
			r.Sequences = [][]int32{{1}, {6}}
			_, _, err := f.Encode(t.Context(), r)
			if name == "one NaN" && r.Logits != nil || err != nil {
				wantNoNumbers(t, name, err)
			} else if r.Logits == nil {
				t.Errorf("%s, %s: no error", name, r.Pooling)
			}
			r.Sequences = [][]int32{{1}, {2, 3}}
			if _, _, err := f.Encode(t.Context(), r); err != nil {
				t.Errorf("%s: sound texts: %v", name, err)
			}
		}
	}
}
