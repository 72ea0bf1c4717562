package linux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewestGlibcReadsEveryFile takes libm, which asks for glibc, beside a file that is no program.
func TestNewestGlibcReadsEveryFile(t *testing.T) {
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "README"), []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err := newestGlibc(tree); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("a tree without programs needs glibc %s, %v", v, err)
	}
	if err := os.Symlink("/proc/self/exe", filepath.Join(tree, "link")); err != nil {
		t.Fatal(err)
	}
	if v, err := newestGlibc(tree); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("a link is read as a file: glibc %s, %v", v, err)
	}
	libm, err := filepath.Glob("/lib/x86_64-linux-gnu/libm.so.6")
	if err != nil || len(libm) == 0 {
		t.Fatal("this machine has no libm", err)
	}
	text, err := os.ReadFile(libm[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "libm"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err := newestGlibc(tree); err != nil || !strings.HasPrefix(v, "2.") {
		t.Errorf("libm needs glibc %q, %v", v, err)
	}
}
