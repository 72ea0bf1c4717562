package gguf

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kinds of tokens, as the format numbers them.
const (
	tokenControl     = 3 // special
	tokenUserDefined = 4 // found in a text before it is split
	tokenUnused      = 5
)

// A tokenizer is what the metadata says of one.
type tokenizer struct {
	metadata metadata
	tokens   []string
	types    []int64 // as long as tokens
	merges   []string
	form     tokenizerForm
}

// A tokenizerForm has the parts of tokenizer.json that follow from the kind of the tokenizer. Each
// is JSON.
type tokenizerForm struct {
	normalizer, preTokenizer, decoder string

	ignoreMerges bool
	addBOS       bool // unless the metadata says otherwise
}

// tokenizer reads the tokenizer of the metadata.
func (m *model) tokenizer() (*tokenizer, error) {
	t := &tokenizer{metadata: m.header.metadata}
	t.tokens = t.metadata.texts("tokenizer.ggml.tokens")
	t.types = t.metadata.ints("tokenizer.ggml.token_type")
	if t.tokens == nil {
		return nil, errors.New("its metadata lacks tokenizer.ggml.tokens, so it has no tokenizer")
	}
	if t.types == nil {
		t.types = make([]int64, len(t.tokens))
	}
	if len(t.types) != len(t.tokens) {
		return nil, fmt.Errorf("it has %d tokens and %d types of tokens", len(t.tokens), len(t.types))
	}
	for id, token := range t.tokens {
		if !utf8.ValidString(token) {
			return nil, fmt.Errorf("its token %d is not UTF-8", id)
		}
	}
	switch kind := t.metadata.text("tokenizer.ggml.model"); kind {
	case "gpt2":
		pre := t.metadata.text("tokenizer.ggml.pre")
		form, ok := byteLevelForms[pre]
		if !ok {
			return nil, unsupported("has a tokenizer with the split %q, which is not supported; "+
				"supported are %s", pre,
				strings.Join(slices.Sorted(maps.Keys(byteLevelForms)), ", "))
		}
		t.form = form
	default:
		return nil, unsupported("has a tokenizer of the kind %q, which is not supported; "+
			"supported are gpt2", kind)
	}
	if t.merges = t.metadata.texts("tokenizer.ggml.merges"); t.merges == nil {
		return nil, errors.New("its tokenizer has no tokenizer.ggml.merges; " +
			"download a file that was made later")
	}
	return t, nil
}

// added reports whether a token is found in a text before the text is split, and whether it is
// special.
func (t *tokenizer) added(id int) (added, special bool) {
	special = t.types[id] == tokenControl
	return special || t.types[id] == tokenUserDefined, special
}

// marshal returns JSON. The values here always marshal.
func marshal(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// file returns tokenizer.json.
func (t *tokenizer) file() []byte {
	type addedToken struct {
		ID         int    `json:"id"`
		Content    string `json:"content"`
		SingleWord bool   `json:"single_word"`
		LStrip     bool   `json:"lstrip"`
		RStrip     bool   `json:"rstrip"`
		Normalized bool   `json:"normalized"`
		Special    bool   `json:"special"`
	}
	list := []addedToken{}
	vocab := make(map[string]int, len(t.tokens))
	for id, token := range t.tokens {
		if _, twice := vocab[token]; twice || t.types[id] == tokenUnused {
			continue
		}
		vocab[token] = id
		if added, special := t.added(id); added {
			list = append(list, addedToken{ID: id, Content: token, Special: special})
		}
	}
	raw := func(text string) json.RawMessage {
		if text == "" {
			text = "null"
		}
		return json.RawMessage(text)
	}
	return marshal(map[string]any{
		"version":        "1.0",
		"added_tokens":   list,
		"normalizer":     raw(t.form.normalizer),
		"pre_tokenizer":  raw(t.form.preTokenizer),
		"post_processor": nil,
		"decoder":        raw(t.form.decoder),
		"model": map[string]any{
			"type":          "BPE",
			"ignore_merges": t.form.ignoreMerges,
			"vocab":         vocab,
			"merges":        t.merges,
		},
	})
}

// token returns the token whose id has a key, empty if there is none.
func (t *tokenizer) token(key string) string {
	id := t.metadata.id("tokenizer.ggml." + key)
	if id < 0 || id >= len(t.tokens) {
		return ""
	}
	return t.tokens[id]
}

// config returns tokenizer_config.json.
func (t *tokenizer) config() []byte {
	c := map[string]any{"clean_up_tokenization_spaces": false}
	for field, key := range map[string]string{
		"bos_token": "bos_token_id", "eos_token": "eos_token_id",
		"unk_token": "unknown_token_id", "pad_token": "padding_token_id",
	} {
		if token := t.token(key); token != "" {
			c[field] = token
		}
	}
	c["add_bos_token"] = t.adds("add_bos_token", t.form.addBOS) && c["bos_token"] != nil
	c["add_eos_token"] = t.adds("add_eos_token", false) && c["eos_token"] != nil
	if template := t.metadata.text("tokenizer.chat_template"); template != "" {
		c["chat_template"] = template
	}
	return marshal(c)
}

// adds returns a switch of the metadata, or otherwise.
func (t *tokenizer) adds(key string, otherwise bool) bool {
	if v, ok := t.metadata["tokenizer.ggml."+key].(bool); ok {
		return v
	}
	return otherwise
}

// ends are the tokens that end an answer, whatever the metadata says.
var ends = []string{
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|eom_id|>",
}

// generationConfig returns generation_config.json.
func (t *tokenizer) generationConfig() []byte {
	ids := []int{}
	for _, key := range []string{"eos_token_id", "eot_token_id", "eom_token_id"} {
		if id := t.metadata.id("tokenizer.ggml." + key); id >= 0 && id < len(t.tokens) {
			ids = append(ids, id)
		}
	}
	for id, token := range t.tokens {
		if t.types[id] == tokenControl && slices.Contains(ends, token) &&
			!slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return marshal(map[string]any{"eos_token_id": ids})
}
