package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A folder that cannot be made is found before the first start, which makes nothing.
func TestCheckWritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{dir: true, filepath.Join(dir, "a", "b"): true, file: false,
		filepath.Join(file, "a", "b"): false} {
		if err := CheckWritable(path); (err == nil) != ok {
			t.Errorf("%s: %v, want it writable: %t", path, err, ok)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Error("the check made a folder")
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	nowhere, locked := filepath.Join(dir, "nowhere"), filepath.Join(dir, "locked")
	if err := errors.Join(os.Symlink(filepath.Join(dir, "not mounted"), nowhere),
		os.MkdirAll(filepath.Join(locked, "lock"), 0o700)); err != nil {
		t.Fatal(err)
	}
	_, lock := Open(locked)
	errno := func(kind syscall.Errno) error {
		return Unusable(&fs.PathError{Op: "open", Path: dir, Err: kind})
	}
	for _, x := range []struct {
		err    error
		remedy string
	}{
		{errno(syscall.EACCES), "make it yours"},
		{errno(syscall.EPERM), "make it yours"},
		{errno(syscall.EROFS), "mount its disk"},
		{errno(syscall.ENOSPC), "free some space"},
		{errno(syscall.EDQUOT), "free some space"},
		{errno(syscall.EIO), "check its disk"},
		{errno(syscall.EISDIR), "move away"},
		{errno(syscall.ENOTEMPTY), "move away"},
		{CheckWritable(file), "move away"},
		{Make(file), "move away"},
		{Make(filepath.Join(file, "a")), "move away"},
		{lock, "move away"},
		{Make(loop), "mend the link"},
		{Make(nowhere), "mend the link"},
		{Make(filepath.Join(dir, strings.Repeat("a", 300))), "shorten"},
	} {
		if x.err == nil || !strings.Contains(x.err.Error(), x.remedy) ||
			!strings.HasSuffix(x.err.Error(), ", or set TANDEM_HOME to another folder") {
			t.Errorf("the error is %v, want one with %q", x.err, x.remedy)
		}
	}
	if err := Unusable(nil); err != nil {
		t.Error(err)
	}
}

// A folder is closed to others if it is new, empty or Tandem's own. With other files it stays as it
// is.
func TestMakeClosesFolderToOthers(t *testing.T) {
	for _, c := range []struct {
		name, file string
		mode       os.FileMode // 0: there is no folder
		refused    bool
	}{
		{name: "new"},
		{name: "empty", mode: 0o755},
		{name: "of Tandem", mode: 0o755, file: DatabaseFile},
		{name: "of others", mode: 0o755, file: "thesis.txt", refused: true},
		{name: "private", mode: 0o700, file: "thesis.txt"},
	} {
		dir := filepath.Join(t.TempDir(), "a", "home")
		if c.mode != 0 {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, c.mode); err != nil {
				t.Fatal(err)
			}
		}
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(dir, c.file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := os.FileMode(0o700)
		if c.refused {
			want = c.mode
		}
		err := Make(dir)
		if info, e := os.Stat(dir); e != nil || info.Mode().Perm() != want || (err != nil) != c.refused {
			t.Errorf("a folder that is %s: %v; it has mode %v, %v, want %v", c.name, err, info.Mode(), e, want)
		}
	}
}

// TestSweepTakesTheRightsOfOthers opens what is in a home to everybody.
func TestSweepTakesTheRightsOfOthers(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	h, err := Open(filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(outside, nil, 0o666), os.Chmod(outside, 0o666), os.Symlink(outside, h.Path("link")),
		os.Mkdir(h.Path("texts"), 0o777), os.Chmod(h.Path("texts"), 0o777),
		os.WriteFile(h.Path(DatabaseFile), nil, 0o666), os.Chmod(h.Path(DatabaseFile), 0o666), h.Sweep())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{h.Path("texts"): 0o700, h.Path(DatabaseFile): 0o600, outside: 0o666} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, want %v, %v", path, info.Mode().Perm(), want, err)
		}
	}
}

// Something other than a file in the database's place is not a lost database: opening it says what it is.
func TestLostDatabaseIsMissingOrEmpty(t *testing.T) {
	h, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	path := h.Path(DatabaseFile)
	if err := os.MkdirAll(h.Path("kept", "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		make func() error
		want bool
	}{
		{"missing", func() error { return nil }, true},
		{"empty", func() error { return os.WriteFile(path, nil, 0o600) }, true},
		{"not empty", func() error { return os.WriteFile(path, []byte("a"), 0o600) }, false},
		{"a pipe", func() error { return syscall.Mkfifo(path, 0o600) }, false},
		{"a folder", func() error { return os.Mkdir(path, 0o700) }, false},
		{"a dead link", func() error { return os.Symlink("nowhere", path) }, true},
	} {
		if err := errors.Join(os.RemoveAll(path), x.make()); err != nil {
			t.Fatal(err)
		}
		if got := h.LostDatabase("none", "kept"); got != x.want {
			t.Errorf("%s: lost %t, want %t", x.name, got, x.want)
		}
		if h.LostDatabase("none") {
			t.Errorf("%s is lost without files of an earlier run", x.name)
		}
	}
}
