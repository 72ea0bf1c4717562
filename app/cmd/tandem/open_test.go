package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRedirect: the page with the code is its owner's alone to read.
func TestRedirect(t *testing.T) {
	home := t.TempDir()
	m := &Main{Getenv: func(name string) string {
		if name == "TANDEM_HOME" {
			return home
		}
		return ""
	}}
	for range 2 { // it is written over
		path, err := m.redirect("http://127.0.0.1:8263/#code")
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
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
