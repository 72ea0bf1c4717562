package library

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tandem/app/control"
)

// A set of files is one model, whichever of them is named.
func TestASetIsOneModelWhicheverFileIsNamed(t *testing.T) {
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	first, second := filepath.Join(dir, "tiny-Q8_0-00001-of-00002.gguf"),
		filepath.Join(dir, "tiny-Q8_0-00002-of-00002.gguf")
	without := append([]byte("GGUF\x03"), make([]byte, 3+8+8)...) // tensors and metadata
	if err := errors.Join(os.WriteFile(first, file, 0o644),
		os.WriteFile(second, without, 0o644)); err != nil {
		t.Fatal(err)
	}
	a := open(t, setup{})
	for _, path := range []string{second, first, dir} {
		m, err := a.library.AddModel(t.Context(), control.AddRequest{Path: path})
		if err != nil || m.ID != "tiny-Q8_0" || m.Path != first {
			t.Errorf("%s is added as %s at %s, %v", path, m.ID, m.Path, err)
		}
	}
}
