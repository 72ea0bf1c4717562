package models

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A folder is read again after any of its files has changed, and only then.
func TestFolderIsReadAgainAfterAChange(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var known Memo[int]
	reads := 0
	wantReads := func(after string, want int) {
		t.Helper()
		for range 2 {
			got, err := known.Get(dir, FileDates(dir),
				func() (int, error) { reads++; return reads, nil })
			if err != nil || got != want || reads != want {
				t.Errorf("after %s: value %d, %d reads, want %d, %v", after, got, reads, want, err)
			}
		}
	}
	write("config.json", "{}")
	wantReads("the first file", 1)
	write("model.safetensors", "weights")
	wantReads("a new file", 2)
	write("1_Pooling/config.json", "{}")
	wantReads("a new folder with a config.json", 3)
	write("1_Pooling/config.json", "{ }")
	wantReads("another size", 4)
	if err := os.Chtimes(filepath.Join(dir, "model.safetensors"), time.Time{},
		time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	wantReads("another date", 5)
	if err := os.Remove(filepath.Join(dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	wantReads("a removal", 6)
	write("a/b/config.json", "{}")
	wantReads("a module two folders deep", 7)
	elsewhere := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(elsewhere, "config.json"), []byte("{}"),
		0o644),
		os.Symlink(elsewhere, filepath.Join(dir, "linked"))); err != nil {
		t.Fatal(err)
	}
	wantReads("a linked module", 8)
	if err := os.WriteFile(filepath.Join(elsewhere, "config.json"), []byte("{ }"),
		0o644); err != nil {
		t.Fatal(err)
	}
	wantReads("a change in the linked module", 9)
}

// An error is not kept. So a folder is read again after it was mended.
func TestFailedReadIsTriedAgain(t *testing.T) {
	var known Memo[int]
	if _, err := known.Get("a", "files", func() (int, error) {
		return 0,
			os.ErrNotExist
	}); err != os.ErrNotExist {
		t.Errorf("the first read: %v", err)
	}
	if got, err := known.Get("a", "files", func() (int, error) { return 7, nil }); got != 7 ||
		err != nil {
		t.Errorf("the second read: %d, %v", got, err)
	}
}

// A folder whose files are not known is read each time.
func TestUnlistedFolderIsReadEachTime(t *testing.T) {
	var known Memo[int]
	for want := 1; want <= 2; want++ {
		if got, err := known.Get("a", FileDates(t.TempDir()),
			func() (int, error) { return want, nil }); got != want || err != nil {
			t.Errorf("read %d gave %d, %v", want, got, err)
		}
	}
}
