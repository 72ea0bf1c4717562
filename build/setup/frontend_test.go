package setup

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestInterfaceIsBuiltAgain expects each file outside of frontend that its sources name among those that
// build it again.
func TestInterfaceIsBuiltAgain(t *testing.T) {
	outside := regexp.MustCompile(`'((?:\.\./)+[\w./-]+)'`)
	var found []string
	for _, dir := range []string{"src", "plugins"} {
		top := os.DirFS("../..")
		err := fs.WalkDir(top, path.Join(FrontendDir, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(name, ".test.ts") {
				return err
			}
			text, err := fs.ReadFile(top, name)
			for _, m := range outside.FindAllStringSubmatch(string(text), -1) {
				if file := path.Join(path.Dir(name), m[1]); !strings.HasPrefix(file, FrontendDir+"/") {
					found = append(found, file)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); !slices.Equal(found, outsideFiles) {
		t.Errorf("the interface is made of %q too, and built again for %q", found, outsideFiles)
	}
}

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
