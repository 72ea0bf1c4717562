package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestBrowserTestArgs: Node is told each file by name, and ends one that hangs.
func TestBrowserTestArgs(t *testing.T) {
	dir := t.TempDir()
	if _, err := browserTestArgs(dir); err == nil {
		t.Error("no tests are no error")
	}
	if err := os.Mkdir(filepath.Join(dir, "test"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.test.mjs", "b.test.mjs", "server.mjs"} {
		if err := os.WriteFile(filepath.Join(dir, "test", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"--test", "--test-reporter=spec", "--test-concurrency=1", "--test-timeout=900000", filepath.Join(dir, "test", "a.test.mjs"), filepath.Join(dir, "test", "b.test.mjs")}
	if got, err := browserTestArgs(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
