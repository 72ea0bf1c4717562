package gguf

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	tok "tandem/engine/tokenizer"
)

// scored returns a file whose tokenizer has scores in place of merges.
func scored(tokens []string, score float32) *image {
	m := smallestWithout("tokenizer.")
	m.set("tokenizer.ggml.model", "llama")
	m.set("tokenizer.ggml.tokens", tokens)
	m.set("tokenizer.ggml.scores", slices.Repeat([]float32{score}, len(tokens)))
	return m
}

// Joins cost the square of a token's length, so a file of a few MB could take hours.
func TestLongTokensAreRefused(t *testing.T) {
	long := strings.Repeat("a", maxToken)
	many := make([]string, maxMergeText/maxToken/maxToken+1)
	for i := range many {
		many[i] = fmt.Sprintf("%04d", i) + long[4:]
	}
	for _, c := range []struct {
		m    *image
		want string
	}{
		{scored([]string{"a", long}, 0), ""},
		{scored([]string{"a", long + "a"}, 0), "token 1 has 1025 bytes"},
		{scored(many, 0), "too long to find what joins"},
		{scored([]string{"a"}, float32(math.NaN())), "tokenizer.ggml.scores has NaN for token 0"},
	} {
		_, err := open(t, c.m.file())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("opened with %v, not %q", err, c.want)
		}
	}
}

// changed returns a file whose tokenizer has an entry of another value.
func changed(key string, value any) *image {
	m := smallestWithout("tokenizer.")
	for key, v := range map[string]any{"ggml.model": "gpt2", "ggml.pre": "llama-bpe",
		"ggml.tokens": []string{"a", "b", "ab"}, "ggml.token_type": []int32{1, 1, tokenControl},
		"ggml.merges": []string{"a b"}, "ggml.eos_token_id": 2, key: value} {
		if v != nil {
			m.set("tokenizer."+key, v)
		}
	}
	return m
}

// An entry that can't be used would leave a tokenizer without special tokens, or an answer without
// an end.
func TestHostileTokenizers(t *testing.T) {
	none := math.MaxUint32 // how llama.cpp says that there is no such token
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"ggml.model", "gpt2", ""},
		{"ggml.eos_token_id", none, ""},
		{"ggml.eos_token_id", 3, "tokenizer.ggml.eos_token_id is 3, which none of its 3 tokens has"},
		{"ggml.eos_token_id", float32(2), "eos_token_id is 2"},
		{"ggml.bos_token_id", 1 << 31, "bos_token_id is 2147483648"},
		{"ggml.eot_token_id", "ab", `eot_token_id is "ab"`},
		{"ggml.eos_token_ids", []int32{2, 0}, ""},
		{"ggml.eos_token_ids", []int32{2, 3}, "tokenizer.ggml.eos_token_ids has 3, which none of its 3 tokens has"},
		{"ggml.eos_token_ids", []int32{-1}, "eos_token_ids has -1"},
		{"ggml.eos_token_ids", 2, "must be an array of whole numbers"},
		{"ggml.merges", nil, "no tokenizer.ggml.merges"},
		{"ggml.merges", []string{}, "no tokenizer.ggml.merges"},
		{"ggml.merges", []int32{0}, "merges is an array, and must be an array of texts"},
		{"ggml.merges", make([]string, maxMerges+1), "at most 1048576"},
		{"ggml.tokens", []float32{0}, "tokens is an array, and must be an array of texts"},
		{"ggml.tokens", make([]string, maxTokens+1), "types of tokens"},
		{"ggml.token_type", make([]int32, maxTokens+1), "types of tokens"},
		{"ggml.token_type", []float32{1, 1, 3}, "array of whole numbers"},
		{"ggml.scores", "none", "array of numbers"},
		{"ggml.pre", 1, "pre is 1, and must be a text"},
		{"chat_template", []string{"a"}, "chat_template is an array, and must be a text"},
		{"ggml.add_bos_token", 1, "add_bos_token is 1, and must be true or false"},
	} {
		_, err := open(t, changed(c.key, c.value).file())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %.60v: opened with %.200v, not %q", c.key, c.value, err, c.want)
		}
	}
	many := smallestWithout("tokenizer.")
	many.set("tokenizer.ggml.model", "gpt2")
	many.set("tokenizer.ggml.tokens", make([]string, maxTokens+1))
	added := smallestWithout("tokenizer.")
	added.set("tokenizer.ggml.model", "gpt2")
	added.set("tokenizer.ggml.tokens", make([]string, maxAdded+1))
	added.set("tokenizer.ggml.token_type", slices.Repeat([]int32{tokenControl}, maxAdded+1))
	for want, m := range map[string]*image{"it has 524289 tokens": many,
		"finds 131073 before": added} {
		if _, err := open(t, m.file()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("opened with %v, not %q", err, want)
		}
	}
}

// recordings is the folder of tokenizers whose ids the package tokenizers gave.
const recordings = "../../engine/tokenizer/testdata/"

// A recording is a tokenizer.json and the ids of strings.
type recording struct {
	Tokenizer struct {
		AddedTokens []struct {
			ID      int    `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
		Model struct {
			Vocab  map[string]int  `json:"vocab"`
			Merges json.RawMessage `json:"merges"`
		} `json:"model"`
	} `json:"tokenizer"`
	Size   int       `json:"size"`
	Prefix []int32   `json:"prefix"`
	IDs    [][]int32 `json:"ids"`
}

func readRecording(t *testing.T, name string, v any) {
	t.Helper()
	readGzip(t, recordings+name+".json.gz", v)
}

func readGzip(t *testing.T, path string, v any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(v); err != nil {
		t.Fatal(err)
	}
}

// merges returns pairs as GGUF has them.
func (r *recording) merges(t *testing.T) []string {
	var joined []string
	if json.Unmarshal(r.Tokenizer.Model.Merges, &joined) == nil {
		return joined
	}
	joined = nil
	var pairs [][2]string
	if err := json.Unmarshal(r.Tokenizer.Model.Merges, &pairs); err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		joined = append(joined, p[0]+" "+p[1])
	}
	return joined
}

// image returns a file with the recorded tokenizer.
func (r *recording) image(t *testing.T, kind, pre string) *image {
	tokens, types := make([]string, r.Size), slices.Repeat([]int32{tokenUnused}, r.Size)
	for token, id := range r.Tokenizer.Model.Vocab {
		tokens[id], types[id] = token, tokenNormal
	}
	for _, a := range r.Tokenizer.AddedTokens {
		tokens[a.ID], types[a.ID] = a.Content, tokenUserDefined
		if a.Special {
			types[a.ID] = tokenControl
		}
		if a.Content == "<unk>" {
			types[a.ID] = tokenUnknown
		}
	}
	m := smallestWithout("tokenizer.")
	m.set("tokenizer.ggml.model", kind)
	m.set("tokenizer.ggml.pre", pre)
	m.set("tokenizer.ggml.tokens", tokens)
	m.set("tokenizer.ggml.token_type", types)
	m.set("tokenizer.ggml.merges", r.merges(t))
	if len(r.Prefix) > 0 {
		m.set("tokenizer.ggml.bos_token_id", int(r.Prefix[0]))
	}
	return m
}

// load returns the tokenizer of a file.
func load(t *testing.T, m *image) *tok.Tokenizer {
	t.Helper()
	d, err := open(t, m.file())
	if err != nil {
		t.Fatal(err)
	}
	out, err := tok.Load(mustRead(t, d, tokenizerFile), mustRead(t, d, tokenizerConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTokenizersAreTheirMakers writes recorded tokenizers as llama.cpp's converter does, and
// compares the ids of 2,000 strings.
func TestTokenizersAreTheirMakers(t *testing.T) {
	var shared struct {
		Strings []string `json:"strings"`
	}
	readRecording(t, "strings", &shared)
	for _, c := range []struct{ name, kind, pre string }{
		{"gpt2", "gpt2", "gpt-2"}, {"llama3", "gpt2", "llama-bpe"}, {"qwen", "gpt2", "qwen2"},
		{"tekken", "gpt2", "tekken"}, {"gemma", "gemma4", ""}, {"llama2", "llama", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r recording
			readRecording(t, c.name, &r)
			if len(r.IDs) < 2000 || len(r.IDs) != len(shared.Strings) {
				t.Fatalf("%d recorded encodings of %d strings", len(r.IDs), len(shared.Strings))
			}
			tokens := load(t, r.image(t, c.kind, c.pre))
			wrong := 0
			for i, text := range shared.Strings {
				got, err := tokens.Encode(text, tok.EncodeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, r.IDs[i]) {
					if wrong++; wrong <= 5 {
						t.Errorf("%.100q:\n got %v\nwant %v", text, got, r.IDs[i])
					}
				}
			}
			if wrong > 0 {
				t.Errorf("%d of %d strings differ", wrong, len(r.IDs))
			}
			if id, has := tokens.BOS(); has != (len(r.Prefix) > 0) || has && id != r.Prefix[0] {
				t.Errorf("the first token is %d, %t", id, has)
			}
		})
	}
}

// TestSplitsAreTheirMakers compares ids with what the package tokenizers gave, for names of splits
// that have no tokenizer of their own among the recordings.
func TestSplitsAreTheirMakers(t *testing.T) {
	var r struct {
		Vocab   map[string]int       `json:"vocab"`
		Merges  json.RawMessage      `json:"merges"`
		Strings []string             `json:"strings"`
		IDs     map[string][][]int32 `json:"ids"`
	}
	readGzip(t, "testdata/splits.json.gz", &r)
	if len(r.IDs) < 8 {
		t.Fatalf("%d splits", len(r.IDs))
	}
	of := recording{Size: len(r.Vocab)}
	of.Tokenizer.Model.Vocab, of.Tokenizer.Model.Merges = r.Vocab, r.Merges
	for pre, ids := range r.IDs {
		tokens, wrong := load(t, of.image(t, "gpt2", pre)), 0
		for i, text := range r.Strings {
			got, err := tokens.Encode(text, tok.EncodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, ids[i]) {
				if wrong++; wrong <= 3 {
					t.Errorf("%s: %.100q:\n got %v\nwant %v", pre, text, got, ids[i])
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d strings differ", pre, wrong, len(ids))
		}
	}
}

// TestScoresJoinAsInSentencePiece compares a tokenizer that has scores in place of merges with
// SentencePiece itself.
func TestScoresJoinAsInSentencePiece(t *testing.T) {
	text, err := os.ReadFile("testdata/pieces.json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Tokens  []string  `json:"tokens"`
		Types   []int32   `json:"types"`
		Scores  []float32 `json:"scores"`
		Strings []string  `json:"strings"`
		IDs     [][]int32 `json:"ids"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	m := smallestWithout("tokenizer.")
	m.set("tokenizer.ggml.model", "llama")
	m.set("tokenizer.ggml.add_space_prefix", false)
	m.set("tokenizer.ggml.tokens", r.Tokens)
	m.set("tokenizer.ggml.token_type", r.Types)
	m.set("tokenizer.ggml.scores", r.Scores)
	tokens := load(t, m)
	wrong := 0
	for i, text := range r.Strings {
		got, err := tokens.Encode(text, tok.EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, r.IDs[i]) {
			if wrong++; wrong <= 5 {
				t.Errorf("%.100q:\n got %v\nwant %v", text, got, r.IDs[i])
			}
		}
	}
	if wrong > 0 || len(r.IDs) < 400 {
		t.Errorf("%d of %d strings differ", wrong, len(r.IDs))
	}
}
