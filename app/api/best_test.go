package api_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"testing"

	"tandem/app/api"
	"tandem/app/model"
	"tandem/app/roomtest"
	"tandem/engine"
)

// TestBestOfReturnsLikeliest: each prompt gets its likeliest continuations, the best first. The
// mean of a continuation's tokens ranks it. The usage counts all that was computed.
func TestBestOfReturnsLikeliest(t *testing.T) {
	// These are by seed. The last has the lowest sum and the highest mean.
	scripts := []struct {
		text     string
		logprobs []float32
	}{
		{"p", []float32{-2}},
		{"q", []float32{-0.5}},
		{"r", []float32{-1}},
		{"stuvwxyz", []float32{-0.3, -0.3, -0.3, -0.3, -0.3, -0.3, -0.3, -0.3}},
	}
	place := map[uint64]int{} // of a continuation, by its seed
	for i := range scripts {
		asked := api.Params{Seed: new(uint64(100))}
		place[*asked.Request(nil, model.Defaults{}, i).Seed] = i
	}
	fake := roomtest.NewBackend()
	fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			script := scripts[place[*r.Seed]]
			st := engine.Stats{PromptTokens: len(r.Prompt), CompletionTokens: len(script.text)}
			defer func() { r.Done(st) }()
			if !r.Logprobs || r.TopLogprobs != 0 {
				t.Errorf("logprobs %t, %d", r.Logprobs, r.TopLogprobs)
			}
			for i := range len(script.text) {
				tok := engine.Token{ID: int32(script.text[i]), Text: script.text[i : i+1],
					Logprobs: &engine.Logprobs{Logprob: script.logprobs[i]}}
				if i == len(script.text)-1 {
					tok.Finish = engine.FinishStop
				}
				if !yield(tok, nil) {
					return
				}
			}
		}
	}
	for _, c := range []struct {
		fields string
		texts  []string
		tokens int
	}{
		{`"prompt":"a","best_of":4`, []string{"stuvwxyz"}, 11},
		{`"prompt":"a","best_of":3`, []string{"q"}, 3},
		{`"prompt":"a","best_of":4,"n":3`, []string{"stuvwxyz", "q", "r"}, 11},
		{`"prompt":["a","b"],"best_of":3,"n":2`, []string{"q", "r", "q", "r"}, 6},
	} {
		w := roomtest.Post(serve(fake), "/v1/completions",
			`{"model":"tandem","seed":100,`+c.fields+`}`)
		var answer struct {
			Choices []struct {
				Index    int
				Text     string
				Logprobs any
			}
			Usage struct {
				CompletionTokens int `json:"completion_tokens"`
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK ||
			len(answer.Choices) != len(c.texts) {
			t.Errorf("%s: %d %s", c.fields, w.Code, w.Body)
			continue
		}
		for i, choice := range answer.Choices {
			if choice.Index != i || choice.Text != c.texts[i] || choice.Logprobs != nil {
				t.Errorf("%s: choice %d is %+v, want %q", c.fields, i, choice, c.texts[i])
			}
		}
		if answer.Usage.CompletionTokens != c.tokens {
			t.Errorf("%s: %d tokens, want %d", c.fields, answer.Usage.CompletionTokens, c.tokens)
		}
	}
}

// TestBestOfRanksEmptyContinuationLast: a continuation without tokens is the last choice, not an
// error.
func TestBestOfRanksEmptyContinuationLast(t *testing.T) {
	fake := roomtest.NewBackend()
	w := roomtest.Post(serve(fake), "/v1/completions",
		`{"model":"tandem","prompt":"a","best_of":2,"max_tokens":0}`)
	if w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
