package starter

import (
	"os"
	"path/filepath"
	"testing"
)

// TestModelLiesBesideTheProgram lays out a program as the build does, and as a Mac's bundle has it.
func TestModelLiesBesideTheProgram(t *testing.T) {
	root := t.TempDir()
	put := func(name string) string {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	built := put("cli/models/starter.gguf")
	bundled := put("Tandem.app/Contents/Resources/models/starter.gguf")
	put("usr/models/starter.gguf")
	for program, want := range map[string]string{
		"cli/tandem":       built,
		"cli/other/tandem": "",
		"Tandem.app/Contents/Resources/bin/tandem": bundled,
		"Tandem.app/Contents/MacOS/Tandem":         "",
		"usr/sbin/tandem":                          "",
	} {
		if got := Beside(filepath.Join(root, filepath.FromSlash(program))); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
	link := filepath.Join(root, "gone", "models", "starter.gguf")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if got := Beside(filepath.Join(root, "gone", "tandem")); got != "" {
		t.Errorf("a link to nothing: %q", got)
	}
}
