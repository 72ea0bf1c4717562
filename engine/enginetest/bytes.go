package enginetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"tandem/engine/tokenizer"
)

// ByteTokenizer returns a byte-level tokenizer without merges: id b is the
// byte b, and 256 is the special token <|end|>.
func ByteTokenizer(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Load(ByteTokenizerJSON(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// ByteTokenizerJSON returns ByteTokenizer's tokenizer.json.
func ByteTokenizerJSON() []byte {
	vocab := map[string]int{}
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		// GPT-2's table: printable Latin-1 stands for itself, the rest for
		// the code points from 256 on.
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r, next = next, next+1
		}
		vocab[string(r)] = b
	}
	file := map[string]any{
		"version": "1.0",
		"added_tokens": []any{map[string]any{
			"id": 256, "content": "<|end|>", "special": true,
			"single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
		}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false,
			"trim_offsets": true, "use_regex": false},
		"decoder": map[string]any{"type": "ByteLevel", "add_prefix_space": false,
			"trim_offsets": true, "use_regex": false},
		"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	}
	data, err := json.Marshal(file)
	if err != nil {
		panic(fmt.Sprintf("enginetest: %v", err))
	}
	return data
}
