package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only its owner can read the page with the code.
func TestOnlyTheOwnerReadsThePageWithTheCode(t *testing.T) {
	home := t.TempDir()
	for range 2 { // the second page overwrites the first
		path, err := redirect(home, "http://127.0.0.1:8263/#code")
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]os.FileMode{path: 0o600,
			filepath.Dir(path): 0o700 | os.ModeDir} {
			if info, err := os.Stat(name); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
			}
		}
		page, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(page), `url=http://127.0.0.1:8263/#code"`) {
			t.Errorf("the page is %q, %v", page, err)
		}
	}
}
