package disk_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/engine/enginetest"
	"tandem/storage/disk"
)

// traps returns names of things that are no regular files, with the kinds that the errors name. It
// makes a named pipe, a socket and a folder, and a link to each. The devices are /dev/tty and a
// link to /dev/zero.
func traps(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	kinds := map[string]string{"pipe": "a named pipe", "socket": "a socket", "folder": "a folder"}
	path := func(name string) string { return filepath.Join(dir, name) }
	l, err := net.Listen("unix", path("socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := errors.Join(syscall.Mkfifo(path("pipe"), 0o600), os.Mkdir(path("folder"), 0o700),
		os.Symlink("/dev/zero", path("device"))); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{path("device"): "a device", "/dev/tty": "a device"}
	for name, kind := range kinds {
		if err := os.Symlink(name, path("link to "+name)); err != nil {
			t.Fatal(err)
		}
		all[path(name)], all[path("link to "+name)] = kind, kind
	}
	return all
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	for name, kind := range traps(t) {
		for how, open := range map[string]func() error{
			"Open":        func() error { _, err := disk.Open(name); return err },
			"ReadFile":    func() error { _, err := disk.ReadFile(name, 1<<20); return err },
			"OpenToWrite": func() error { _, err := disk.OpenToWrite(name, os.O_TRUNC, 0o600); return err },
			"OpenUnlinked": func() error {
				if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeSymlink != 0 {
					return &disk.KindError{What: kind} // it would be removed
				}
				_, err := disk.OpenUnlinked(name, os.O_TRUNC, 0o600)
				return err
			},
			"FS": func() error {
				_, err := disk.Folder(filepath.Dir(name)).Open(filepath.Base(name))
				return err
			},
		} {
			done := make(chan error, 1)
			go func() { done <- open() }()
			select {
			case err := <-done:
				if e, ok := errors.AsType[*disk.KindError](err); !ok || e.What != kind {
					t.Errorf("%s of %s gives %v, want %q", how, name, err, kind)
				}
			case <-time.After(time.Second):
				t.Fatalf("%s of %s waits", how, name)
			}
		}
	}
}

func TestLinksAreFollowedAndLoopsAreNot(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(path("file"), []byte("text"), 0o600),
		os.Symlink("file", path("link")), os.Symlink("b", path("a")), os.Symlink("a", path("b")),
		os.Symlink(".", path("self"))); err != nil {
		t.Fatal(err)
	}
	if text, err := disk.ReadFile(path("self/self/link"), 4); err != nil || string(text) != "text" {
		t.Errorf("a link gives %q, %v", text, err)
	}
	if _, err := disk.ReadFile(path("link"), 3); err == nil {
		t.Error("a file beyond the bound was read")
	}
	if _, err := disk.Open(path("a")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a loop gives %v", err)
	}
	if _, err := disk.EvalSymlinks(path("a")); err == nil {
		t.Error("a loop leads somewhere")
	}
	if _, err := disk.Folder(dir).Open("missing"); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "open missing") {
		t.Errorf("a missing file gives %v", err)
	}
}

func TestOpenToWriteMakesAndKeepsFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for _, want := range []string{"a", "ab"} {
		f, err := disk.OpenToWrite(name, os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(want[len(want)-1:])
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(name); string(text) != want {
			t.Errorf("the file holds %q, %v, want %q", text, err, want)
		}
	}
}

// TestOpenUnlinkedLeavesOtherFilesAlone opens links of each kind, in a folder that is a link too.
func TestOpenUnlinkedLeavesOtherFilesAlone(t *testing.T) {
	dir := t.TempDir()
	there, other := filepath.Join(dir, "there"), filepath.Join(dir, "other")
	if err := errors.Join(os.Mkdir(there, 0o700), os.Symlink(there, filepath.Join(dir, "linked")),
		os.WriteFile(other, []byte("theirs"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for what, link := range map[string]func(name string) error{
		"link":                func(name string) error { return os.Symlink(other, name) },
		"hard link":           func(name string) error { return os.Link(other, name) },
		"link to a link":      func(name string) error { return errors.Join(os.Symlink(other, name+"2"), os.Symlink(name+"2", name)) },
		"link that is a loop": func(name string) error { return os.Symlink(name, name) },
		"link to a pipe": func(name string) error {
			return errors.Join(syscall.Mkfifo(name+"2", 0o600), os.Symlink(name+"2", name))
		},
		"link to nowhere": func(name string) error { return os.Symlink(filepath.Join(dir, "nowhere"), name) },
	} {
		name := filepath.Join(dir, "linked", what)
		if err := link(name); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"a", "aa"} { // what was written stays
			f, err := disk.OpenUnlinked(name, os.O_APPEND, 0o600)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			_, err = f.WriteString("a")
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(name); string(text) != want {
				t.Errorf("%s: the file holds %q, %v, want %q", what, text, err, want)
			}
		}
		if text, err := os.ReadFile(other); string(text) != "theirs" || err != nil {
			t.Errorf("%s: the other file holds %q, %v", what, text, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a file was made through a link")
	}
}

func TestReadDirReadsSoManyNames(t *testing.T) {
	dir := t.TempDir()
	if list, err := disk.ReadDir(dir, 5); len(list) > 0 || err != nil {
		t.Errorf("an empty folder gives %v, %v", list, err)
	}
	for _, name := range []string{"c", "a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	all, err := disk.ReadDir(dir, 0)
	if err != nil || len(all) != 3 || all[0].Name() != "a" {
		t.Errorf("got %v, %v", all, err)
	}
	if some, err := disk.ReadDir(dir, 2); err != nil || len(some) != 2 {
		t.Errorf("got %v, %v", some, err)
	}
	for name := range traps(t) {
		if _, err := disk.ReadDir(name, 0); err == nil && !disk.IsDir(name) {
			t.Errorf("%s was listed", name)
		}
	}
}

func TestSilentDiskIsRefusedInTime(t *testing.T) {
	dir := enginetest.SilentFolder(t)
	start := time.Now()
	for how, call := range map[string]func() error{
		"Stat":     func() error { _, err := disk.Stat(dir); return err },
		"Open":     func() error { _, err := disk.Open(filepath.Join(dir, "x")); return err },
		"ReadDir":  func() error { _, err := disk.ReadDir(dir, 0); return err },
		"FS":       func() error { _, err := disk.Folder(dir).Stat("config.json"); return err },
		"ReadFile": func() error { _, err := disk.ReadFile(filepath.Join(dir, "y"), 9); return err },
		"EvalSymlinks": func() error {
			_, err := disk.EvalSymlinks(filepath.Join(dir, "z"))
			return err
		},
	} {
		err := call()
		if _, ok := errors.AsType[*disk.SilentError](err); !ok {
			t.Errorf("%s gives %v", how, err)
		}
	}
	if d := time.Since(start); d > 3*disk.Patience {
		t.Errorf("all calls together took %v", d)
	}
	if _, err := disk.Stat(filepath.Dir(dir)); err != nil {
		t.Errorf("the folder above gives %v", err)
	}
}

func TestPatientReadsReadTheWholeFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("0123456789"), 300_000) // more than one read
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := disk.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.BePatient()
	got := make([]byte, len(want))
	if n, err := f.ReadAt(got, 0); n != len(want) || err != nil || !bytes.Equal(got, want) {
		t.Errorf("ReadAt gives %d bytes, %v", n, err)
	}
	if n, err := f.ReadAt(got, 10); n != len(want)-10 || err != io.EOF {
		t.Errorf("a read beyond the end gives %d bytes, %v", n, err)
	}
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
		t.Errorf("ReadAll gives %d bytes, %v", len(got), err)
	}
}
