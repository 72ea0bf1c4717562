package library

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/models/hub"
)

// TestRevealShowsTheFolderOfAModel runs a program of its own in place of the one that shows folders.
func TestRevealShowsTheFolderOfAModel(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("the Finder would come to the front")
	}
	cache, bin := t.TempDir(), t.TempDir()
	path := cachedModel(t, cache, "org/ours", "llama")
	r := open(t, setup{Hub: hub.Options{CacheDir: cache}})
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: path}); err != nil {
		t.Fatal(err)
	}
	shown := filepath.Join(bin, "shown")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	script := "#!/bin/sh\necho \"$1\" > '" + shown + "'\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.library.Reveal(t.Context(), "org/ours"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(shown); err != nil || strings.TrimSpace(string(b)) != filepath.Dir(path) {
		t.Errorf("shown: %s, %v; want %s", b, err, filepath.Dir(path))
	}

	var e *control.Error
	if err := r.library.Reveal(t.Context(), "none"); !errors.As(err, &e) || e.Code != control.CodeModelNotFound {
		t.Errorf("no such model: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := r.library.Reveal(t.Context(), "org/ours"); !errors.As(err, &e) || e.Code != control.CodeInvalid ||
		!strings.Contains(e.Message, path) {
		t.Errorf("nothing shows folders: %v", err)
	}
}
