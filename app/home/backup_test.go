package home

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolderWithoutBackupIsMarkedAndItsOwners(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "texts")
	for range 2 {
		if err := WithoutBackup(dir); err != nil {
			t.Fatal(err)
		}
	}
	tag, err := os.ReadFile(filepath.Join(dir, "CACHEDIR.TAG"))
	if err != nil || !strings.HasPrefix(string(tag), "Signature: 8a477f597d28d172789f06886806bc55") {
		t.Errorf("the tag is %q, %v", tag, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := WithoutBackup(filepath.Join(dir, "CACHEDIR.TAG")); err == nil {
		t.Error("a file is no folder")
	}
}
