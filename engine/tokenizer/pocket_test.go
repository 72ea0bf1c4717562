package tokenizer

import (
	"os"
	"path/filepath"
	"testing"
)

// The tokenizer of the embedded model loads.
func TestEmbeddedModelsTokenizerLoads(t *testing.T) {
	dir := filepath.Join("..", "..", "models", "pocket")
	files := map[string][]byte{}
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	tok, err := Load(files["tokenizer.json"], files["tokenizer_config.json"])
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tok.EOS(); !ok {
		t.Error("no EOS")
	}
	_, _, strs := family(t, "gpt2")
	for _, s := range append(strs, "func (s *Server) Close() error {\n\treturn s.l.Close()\n}\n") {
		if got := tok.Decode(encode(t, tok, s, EncodeOptions{}), false); got != s {
			t.Errorf("%q comes back as %q", s, got)
		}
	}
	for id := range int32(tok.Size()) {
		if !tok.IsSpecial(id) {
			continue
		}
		if ids := encode(t, tok, tok.Token(id), EncodeOptions{}); len(ids) != 1 || ids[0] != id {
			t.Errorf("special token %q is encoded as %v", tok.Token(id), ids)
		}
	}
}
