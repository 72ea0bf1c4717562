package setup

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPatchFitsOneSource applies mlxcPatch to the lines that it expects, and to others. These lines
// come from the patch. Whether it fits the pinned mlx-c, only setup finds out, as it builds that.
func TestPatchFitsOneSource(t *testing.T) {
	patch, err := os.ReadFile("../../" + mlxcPatch)
	if err != nil {
		t.Fatal(err)
	}
	_, hunk, _ := strings.Cut(string(patch), " @@\n")
	var before, after strings.Builder
	for line := range strings.Lines(hunk) {
		if line[0] != '+' {
			before.WriteString(line[1:])
		}
		if line[0] != '-' {
			after.WriteString(line[1:])
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	b := &Builder{Root: root, Out: io.Discard}
	dir := t.TempDir()
	source := filepath.Join(dir, "mlx", "c", "ops.cpp")
	if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(before.String())
	if err := b.patchMLXC(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(source); err != nil || string(got) != after.String() {
		t.Errorf("the source became %s, %v", got, err)
	}
	for what, text := range map[string]string{
		"the patched source": after.String(),
		"another source":     strings.Replace(before.String(), "std::string(mode)", "mode", 1),
	} {
		write(text)
		err := b.patchMLXC(t.Context(), dir)
		if err == nil || !strings.Contains(err.Error(), mlxcPatch+" does not fit mlx-c "+MLXCVersion) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
