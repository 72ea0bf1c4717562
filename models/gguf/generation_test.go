package gguf

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

// shownGeneration returns generation_config.json of a file whose metadata has the given entries.
// Its tokens are a, b, ab, <|im_end|> and <stop>.
func shownGeneration(t *testing.T, entries map[string]any, r Recommended) string {
	t.Helper()
	m := smallestWithout("tokenizer.")
	m.set("tokenizer.ggml.model", "gpt2")
	m.set("tokenizer.ggml.pre", "smollm")
	m.set("tokenizer.ggml.tokens", []string{"a", "b", "ab", "<|im_end|>", "<stop>"})
	m.set("tokenizer.ggml.token_type", []int32{1, 1, 1, tokenControl, tokenUserDefined})
	m.set("tokenizer.ggml.merges", []string{"a b"})
	for key, value := range entries {
		m.set(key, value)
	}
	d, err := open(t, m.file())
	if err != nil {
		t.Fatal(err)
	}
	d.Recommend(r)
	return string(mustRead(t, d, generationConfigFile))
}

// The sampling that llama.cpp's converter writes into a file is shown as generation_config.json has
// it. What others recommend goes before it.
func TestSamplingOfTheMetadata(t *testing.T) {
	sampling := map[string]any{
		"general.sampling.temp": float32(0.7), "general.sampling.top_k": 20,
		"general.sampling.top_p": float32(0.95), "general.sampling.min_p": float32(0.05),
		"general.sampling.penalty_repeat": float32(1.1), "general.sampling.mirostat": 2,
	}
	for _, c := range []struct {
		entries map[string]any
		r       Recommended
		want    string
	}{
		{nil, Recommended{}, `{"eos_token_id":[3]}`},
		{sampling, Recommended{}, `{"eos_token_id":[3],"min_p":0.05,"repetition_penalty":1.1,` +
			`"temperature":0.7,"top_k":20,"top_p":0.95}`},
		{sampling, Recommended{Sampling: map[string]any{"temperature": 0.2, "top_p": nil}},
			`{"eos_token_id":[3],"min_p":0.05,"repetition_penalty":1.1,` +
				`"temperature":0.2,"top_k":20,"top_p":null}`},
		{map[string]any{"general.sampling.temp": float32(math.NaN()),
			"general.sampling.top_p": math.MaxFloat64, "general.sampling.top_k": []string{"x"}},
			Recommended{}, `{"eos_token_id":[3],"temperature":"NaN","top_k":"an array",` +
				`"top_p":"1.7976931348623157e+308"}`},
		{nil, Recommended{Stops: []string{"<stop>", "User:", "b", "<|im_end|>"}},
			`{"eos_token_id":[3,4],"stop_strings":["User:","b"]}`},
	} {
		if got := shownGeneration(t, c.entries, c.r); got != c.want {
			t.Errorf("%v and %v show\n%s, want\n%s", c.entries, c.r, got, c.want)
		}
	}
}

// A Llama's answer ends at <|end|> if that is its mark. One in Harmony goes on after its first
// message, whatever the metadata names as an end.
func TestEndsOfAnswers(t *testing.T) {
	for _, c := range []struct {
		tokens   []string
		eos, eot int
		want     []int
	}{
		{[]string{"a", "<|end|>", "<|endoftext|>"}, 2, 2, []int{2, 1}},
		{[]string{"a", "<|return|>", "<|end|>", "<|call|>", "<|endoftext|>"}, 1, 2, []int{1, 3, 4}},
		{[]string{"a", "<|call|>"}, 0, 0, []int{0}},
		{[]string{"a", "<eos>", "<turn|>", "<|tool_response>", "<|turn>"}, 1, 1, []int{1, 2, 3}},
	} {
		m := smallestWithout("tokenizer.")
		m.set("tokenizer.ggml.model", "gpt2")
		m.set("tokenizer.ggml.pre", "gpt-4o")
		m.set("tokenizer.ggml.tokens", c.tokens)
		types := slices.Repeat([]int32{tokenControl}, len(c.tokens))
		types[0] = tokenNormal
		m.set("tokenizer.ggml.token_type", types)
		m.set("tokenizer.ggml.merges", []string{"a a"})
		m.set("tokenizer.ggml.eos_token_id", c.eos)
		m.set("tokenizer.ggml.eot_token_id", c.eot)
		d, err := open(t, m.file())
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			EOS []int `json:"eos_token_id"`
		}
		if err := json.Unmarshal(mustRead(t, d, generationConfigFile), &got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.EOS, c.want) {
			t.Errorf("%q ends at %v, not %v", c.tokens, got.EOS, c.want)
		}
	}
}
