package pool

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tandem/app/control"
)

// The tokenizer of a model that is not in memory is read once, and again after a change of
// tokenizer_config.json, which can change the ids.
func TestTokenizerIsReadAgainAfterAChangeOfItsConfig(t *testing.T) {
	dir := writeModel(t, "tiny")
	r := start(t, setup{})
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir}); err != nil {
		t.Fatal(err)
	}
	first, err := r.pool.Tokenizer(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.pool.Tokenizer(t.Context(), "tiny"); again != first || err != nil {
		t.Errorf("the same files are read again; %v", err)
	}
	file := filepath.Join(dir, "tokenizer_config.json")
	if err := os.WriteFile(file, []byte(`{"add_bos_token":false}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, time.Unix(1700000000, 0)); err != nil {
		t.Fatal(err)
	}
	if changed, err := r.pool.Tokenizer(t.Context(), "tiny"); changed == first || err != nil {
		t.Errorf("tokenizer_config.json changed, and the tokenizer did not; %v", err)
	}
}
