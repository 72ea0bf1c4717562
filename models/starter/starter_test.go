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

// TestTestsFindTheModelFromAnyFolder makes a checkout and looks from a folder inside it.
func TestTestsFindTheModelFromAnyFolder(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(root, "models", "starter", ".deps")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module tandem\n\ngo 1.26\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(inside)
	if got := InCheckout(); got != "" {
		t.Errorf("without the model: %q", got)
	}
	path := filepath.Join(inside, "starter.gguf")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := InCheckout(); got != path {
		t.Errorf("%q, want %q", got, path)
	}
	t.Chdir(t.TempDir())
	if got := InCheckout(); got != "" {
		t.Errorf("outside a checkout: %q", got)
	}
}
