package gguf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kinds of tokens, as the format numbers them.
const (
	tokenNormal      = 1
	tokenUnknown     = 2
	tokenControl     = 3 // special
	tokenUserDefined = 4 // found in a text before it is split
	tokenUnused      = 5
)

// maxToken is the bytes of a token. The longest of published tokenizers are 128 spaces.
const maxToken = 1 << 10

// Limits of a tokenizer. The largest published ones have 262,144 tokens and 514,906 merges, and
// find 6,500 tokens before they split a text.
const (
	maxTokens = 1 << 19
	maxMerges = 1 << 20
	maxAdded  = 1 << 17
)

// A tokenizer is what the metadata says of one.
type tokenizer struct {
	metadata metadata
	tokens   []string
	types    []int64   // as long as tokens
	merges   []string  // two tokens each, the first first; nil if they follow from scores
	scores   []float64 // as long as tokens, or nil
	parts    tokenizerParts
}

// A tokenizerParts has the parts of tokenizer.json that follow from the kind of the tokenizer. A
// part that is nil is null there.
type tokenizerParts struct {
	normalizer, preTokenizer, decoder component

	ignoreMerges, byteFallback bool

	addBOS bool // unless the metadata says otherwise
}

// tokenizer reads the tokenizer of the metadata.
func (m *model) tokenizer() (*tokenizer, error) {
	t := &tokenizer{metadata: m.header.metadata}
	if err := t.checkEntries(); err != nil {
		return nil, err
	}
	t.tokens = t.metadata.strings("tokenizer.ggml.tokens")
	t.types = t.metadata.ints("tokenizer.ggml.token_type")
	if t.tokens == nil {
		return nil, lacking("tokenizer.ggml.tokens")
	}
	if t.types == nil {
		t.types = make([]int64, len(t.tokens))
	}
	if len(t.types) != len(t.tokens) {
		return nil, fmt.Errorf("it has %d tokens and %d types of tokens", len(t.tokens), len(t.types))
	}
	if err := t.checkTokens(); err != nil {
		return nil, err
	}
	if err := t.chooseParts(); err != nil {
		return nil, err
	}
	return t, t.checkScores()
}

// checkEntries refuses entries of another type than they must have.
func (t *tokenizer) checkEntries() error {
	const of = "tokenizer.ggml."
	return cmp.Or(
		check[string](t.metadata, "a text", of+"model", of+"pre", "tokenizer.chat_template"),
		check[[]string](t.metadata, "an array of texts", of+"tokens", of+"merges"),
		check[[]int64](t.metadata, "an array of whole numbers", of+"token_type", eosTokenIDs),
		check[[]float64](t.metadata, "an array of numbers", of+"scores"),
		check[bool](t.metadata, "true or false",
			of+"add_bos_token", of+"add_eos_token", of+"add_space_prefix"),
	)
}

// checkTokens refuses more tokens than a tokenizer needs, tokens that are not strings, and ids of
// no token.
func (t *tokenizer) checkTokens() error {
	added := 0
	for id, token := range t.tokens {
		if !utf8.ValidString(token) {
			return fmt.Errorf("its token %d is not UTF-8", id)
		}
		if len(token) > maxToken {
			return fmt.Errorf("its token %d has %d bytes, and no tokenizer needs more than %d",
				id, len(token), maxToken)
		}
		if found, _ := t.added(id); found {
			added++
		}
	}
	if len(t.tokens) > maxTokens || added > maxAdded {
		return fmt.Errorf("it has %d tokens and finds %d before it splits a text; "+
			"at most %d and %d are allowed", len(t.tokens), added, maxTokens, maxAdded)
	}
	for _, key := range []string{"bos_token_id", "eos_token_id", "eot_token_id", "eom_token_id"} {
		key = "tokenizer.ggml." + key
		v, ok := t.metadata[key]
		id, is := v.(int64)
		if none := is && (id == -1 || id == math.MaxUint32); !ok || none {
			continue
		}
		if !is || id < 0 || id >= int64(len(t.tokens)) {
			return fmt.Errorf("%s is %s, which none of its %d tokens has", key, abbreviated(v), len(t.tokens))
		}
	}
	for _, id := range t.metadata.ints(eosTokenIDs) {
		if id < 0 || id >= int64(len(t.tokens)) {
			return fmt.Errorf("%s has %d, which none of its %d tokens has", eosTokenIDs, id,
				len(t.tokens))
		}
	}
	return nil
}

// chooseParts chooses the form by the kind of the tokenizer.
func (t *tokenizer) chooseParts() error {
	t.merges = t.metadata.strings("tokenizer.ggml.merges")
	t.scores, _ = t.metadata["tokenizer.ggml.scores"].([]float64)
	switch kind := t.metadata.string("tokenizer.ggml.model"); kind {
	case "gpt2":
		pre := t.metadata.string("tokenizer.ggml.pre")
		parts, ok := byteLevelParts(pre)
		if !ok {
			return unsupported("has a tokenizer with the split %.40q, which is not supported; "+
				"use the model's safetensors files", pre)
		}
		t.parts, t.scores = parts, nil
	case "llama":
		// Gemma adds no space at the beginning of a text. Files of Ollama's converter leave that
		// out.
		gemma := strings.HasPrefix(t.metadata.string("general.architecture"), "gemma")
		t.parts = sentencePieceParts(t.adds("add_space_prefix", !gemma))
	case "gemma4":
		t.parts = sentencePieceParts(false)
	default:
		return unsupported("has a tokenizer of the kind %.40q, which is not supported; "+
			"supported are gemma4, gpt2 and llama", kind)
	}
	switch {
	case len(t.merges) > maxMerges:
		return fmt.Errorf("its tokenizer has %d merges; at most %d are allowed", len(t.merges),
			maxMerges)
	case len(t.merges) > 0:
		t.scores = nil
	case t.scores == nil:
		return errors.New("its tokenizer has no tokenizer.ggml.merges; " +
			"download a file that was made later")
	case len(t.scores) != len(t.tokens):
		return fmt.Errorf("it has %d tokens and %d scores of tokens", len(t.tokens), len(t.scores))
	}
	return nil
}

// checkScores refuses scores that are not numbers, and tokens with too many joins.
func (t *tokenizer) checkScores() error {
	if t.scores == nil {
		return nil
	}
	text := 0
	for id, token := range t.tokens {
		if score := t.scores[id]; math.IsNaN(score) || math.IsInf(score, 0) {
			return fmt.Errorf("tokenizer.ggml.scores has %v for token %d, which is no number",
				score, id)
		}
		text += len(token) * len(token)
	}
	if text > maxMergeText {
		return errors.New("its tokens with scores are too long to find what joins to them")
	}
	return nil
}

// added reports whether a token is found in a text before the text is split, and whether it is
// special.
func (t *tokenizer) added(id int) (added, special bool) {
	special = t.types[id] == tokenControl || t.types[id] == tokenUnknown
	return special || t.types[id] == tokenUserDefined, special
}

// marshal returns JSON.
func marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("its metadata can't be shown as JSON: %w", err)
	}
	return text, nil
}

// file returns tokenizer.json.
func (t *tokenizer) file() ([]byte, error) {
	type addedToken struct {
		ID         int    `json:"id"`
		Content    string `json:"content"`
		SingleWord bool   `json:"single_word"`
		LStrip     bool   `json:"lstrip"`
		RStrip     bool   `json:"rstrip"`
		Normalized bool   `json:"normalized"`
		Special    bool   `json:"special"`
	}
	added := []addedToken{}
	vocab := make(map[string]int, len(t.tokens))
	for id, token := range t.tokens {
		if _, twice := vocab[token]; twice || t.types[id] == tokenUnused {
			continue
		}
		vocab[token] = id
		if found, special := t.added(id); found {
			added = append(added, addedToken{ID: id, Content: token, Special: special})
		}
	}
	var list any = t.merges
	if t.scores != nil {
		list = merges(vocab, t.scores, func(id int) bool {
			return t.types[id] <= tokenNormal
		})
	}
	m := component{"type": "BPE", "ignore_merges": t.parts.ignoreMerges, "vocab": vocab,
		"merges": list}
	if t.parts.byteFallback {
		m["byte_fallback"], m["fuse_unk"] = true, true
		if unknown := t.unknown(); unknown != "" {
			m["unk_token"] = unknown
		}
	}
	return marshal(component{
		"version":        "1.0",
		"added_tokens":   added,
		"normalizer":     t.parts.normalizer,
		"pre_tokenizer":  t.parts.preTokenizer,
		"post_processor": nil,
		"decoder":        t.parts.decoder,
		"model":          m,
	})
}

// unknown returns the token for unknown text, or "".
func (t *tokenizer) unknown() string {
	if id := slices.Index(t.types, tokenUnknown); id >= 0 {
		return t.tokens[id]
	}
	return t.token("unknown_token_id")
}

// token returns the token whose id has a key, or "".
func (t *tokenizer) token(key string) string {
	id := t.metadata.id("tokenizer.ggml." + key)
	if id < 0 || id >= len(t.tokens) {
		return ""
	}
	return t.tokens[id]
}

// config returns tokenizer_config.json. chats is that of [Recommended].
func (t *tokenizer) config(chats bool) ([]byte, error) {
	c := map[string]any{"clean_up_tokenization_spaces": false}
	for field, key := range map[string]string{
		"bos_token": "bos_token_id", "eos_token": "eos_token_id",
		"unk_token": "unknown_token_id", "pad_token": "padding_token_id",
	} {
		if token := t.token(key); token != "" {
			c[field] = token
		}
	}
	c["add_bos_token"] = t.adds("add_bos_token", t.parts.addBOS) && c["bos_token"] != nil
	c["add_eos_token"] = t.adds("add_eos_token", false) && c["eos_token"] != nil
	if template := t.template(chats); template != "" {
		c["chat_template"] = template
	}
	return marshal(c)
}

// adds returns a boolean of the metadata, or fallback.
func (t *tokenizer) adds(key string, fallback bool) bool {
	if v, ok := t.metadata["tokenizer.ggml."+key].(bool); ok {
		return v
	}
	return fallback
}
