package gguf

import (
	"fmt"
	"maps"
	"slices"
)

// Recommended is what sources other than the file recommend for it.
type Recommended struct {
	Sampling map[string]any // by the names of generation_config.json
	Stops    []string       // strings that end an answer

	Chats bool // it is a chat model, so a file without a template gets its family's
}

// Recommend adds to generation_config.json, where it overrides what the file says.
func (d *Folder) Recommend(r Recommended) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recommended = r
}

func (d *Folder) recommendation() Recommended {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.recommended
}

// Tokens of Harmony, the form of gpt-oss. An answer has several messages there, and harmonyEnd ends
// each of them.
const (
	harmonyEnd    = "<|end|>"
	harmonyReturn = "<|return|>" // ends an answer
	harmonyCall   = "<|call|>"   // ends a call of a tool
)

// ends are the tokens that end an answer, whatever the metadata says.
var ends = []string{
	"<|eot_id|>", "<|im_end|>", harmonyEnd, "<end_of_turn>", "<|endoftext|>", "<|eom_id|>",
	"<turn|>", "<|tool_response>",
}

// harmonyEnds are ends for a tokenizer with harmonyReturn.
var harmonyEnds = []string{harmonyReturn, harmonyCall, "<|endoftext|>"}

// eosTokenIDs has all tokens that end an answer in files of Ollama's converter.
const eosTokenIDs = "tokenizer.ggml.eos_token_ids"

// samplingKeys has the keys of sampling by the names of generation_config.json, from which
// llama.cpp's converter has the values.
var samplingKeys = map[string]string{
	"temperature":        "general.sampling.temp",
	"top_k":              "general.sampling.top_k",
	"top_p":              "general.sampling.top_p",
	"min_p":              "general.sampling.min_p",
	"repetition_penalty": "general.sampling.penalty_repeat",
}

// generationConfig returns generation_config.json. Stop strings that are tokens end an answer as
// the metadata's own ends do. The others are listed.
func (t *tokenizer) generationConfig(r Recommended) ([]byte, error) {
	c := map[string]any{}
	for name, key := range samplingKeys {
		if v, ok := t.metadata[key]; ok {
			c[name] = plain(v)
		}
	}
	maps.Copy(c, r.Sampling)
	ids, texts := t.ends(r.Stops)
	c["eos_token_id"] = ids
	if len(texts) > 0 {
		c["stop_strings"] = texts
	}
	return marshal(c)
}

// ends returns the tokens that end an answer, and the stop strings that are not tokens.
func (t *tokenizer) ends(stops []string) (ids []int, texts []string) {
	list, never := ends, -1
	if slices.Contains(t.tokens, harmonyReturn) {
		list, never = harmonyEnds, slices.Index(t.tokens, harmonyEnd)
	}
	ids = []int{}
	add := func(id int) {
		if id != never && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, key := range []string{"eos_token_id", "eot_token_id", "eom_token_id"} {
		if id := t.metadata.id("tokenizer.ggml." + key); id >= 0 && id < len(t.tokens) {
			add(id)
		}
	}
	for _, id := range t.metadata.ints(eosTokenIDs) {
		add(int(id))
	}
	left := slices.Clone(stops)
	for id, token := range t.tokens {
		if t.types[id] == tokenControl && slices.Contains(list, token) {
			add(id)
		}
		if found, _ := t.added(id); found && slices.Contains(stops, token) {
			add(id)
			left = slices.DeleteFunc(left, func(text string) bool { return text == token })
		}
	}
	return ids, left
}

// plain returns a value of the metadata as JSON can have it. A float32 is written as short as
// possible. NaN and infinities become strings.
func plain(v any) any {
	f, ok := v.(float64)
	switch {
	case ok && !finite(float32(f)):
		return fmt.Sprint(f)
	case ok && float64(float32(f)) == f:
		return float32(f)
	case ok:
		return f
	}
	switch v.(type) {
	case bool, int64, string:
		return v
	}
	return abbreviated(v)
}
