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
	return byteTokenizerJSON(256, map[string]any{
		"id": 256, "content": "<|end|>", "special": true,
		"single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
	})
}

// byteTokenizerJSON returns a tokenizer.json whose id b is the byte b, up to n of them.
func byteTokenizerJSON(n int, added ...any) []byte {
	vocab := map[string]int{}
	next := rune(256)
	for b := range n {
		r := rune(b)
		// GPT-2's table: printable Latin-1 stands for itself, the rest for
		// the code points from 256 on.
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r, next = next, next+1
		}
		vocab[string(r)] = b
	}
	byteLevel := map[string]any{"type": "ByteLevel", "add_prefix_space": false,
		"trim_offsets": true, "use_regex": false}
	file := map[string]any{
		"version":       "1.0",
		"added_tokens":  added,
		"pre_tokenizer": byteLevel,
		"decoder":       byteLevel,
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	}
	data, err := json.Marshal(file)
	if err != nil {
		panic(fmt.Sprintf("enginetest: %v", err))
	}
	return data
}
