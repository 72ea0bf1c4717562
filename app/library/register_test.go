package library

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// A path where a registered model was is answered with that model's id.
func TestAPathThatIsGoneNamesItsModel(t *testing.T) {
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	a := open(t, setup{})
	r := control.AddRequest{Path: path, ID: "mine"}
	if _, err := a.library.AddModel(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want := "The model mine is no longer at " + path + "; put it back"
	if _, err := a.library.AddModel(t.Context(), r); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}
