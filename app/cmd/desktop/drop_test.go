//go:build desktop

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestDroppedModelsAreFoldersAndGGUFFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	large, small, text := file("a.GGUF"), file("b.gguf"), file("c.txt")
	got := droppedModels([]string{dir, large, text, small, filepath.Join(dir, "gone.gguf")})
	if want := []string{dir, large, small}; !slices.Equal(got, want) {
		t.Errorf("the models are %q, want %q", got, want)
	}
}
