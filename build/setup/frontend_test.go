package setup

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOldNodeCountsAsMissing expects that Node.js counts as present only if Vite runs on it.
func TestOldNodeCountsAsMissing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	b := newTestBuilder(t)
	for version, want := range map[string]bool{"v20.19.0": true, "v22.1.0": true, "v100.0.0": true,
		"v20.18.3": false, "v18.20.1": false, "": false, "nonsense": false} {
		if err := os.WriteFile(filepath.Join(dir, "node"), []byte("#!/bin/sh\necho "+version+"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
		if got := newNode(t.Context(), b); got != want {
			t.Errorf("%q: %t", version, got)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if newNode(t.Context(), b) {
		t.Error("Node.js is found where there is none")
	}
}
