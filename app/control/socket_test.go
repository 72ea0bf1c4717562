package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shortDir returns a temporary folder whose name leaves room for a socket's address.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "c")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestSocketPathIsShortAndIgnoresTMPDIR(t *testing.T) {
	if got := SocketPath("/h"); got != "/h/run/control.sock" {
		t.Errorf("got %s", got)
	}
	a, b := "/"+strings.Repeat("a", 100), "/"+strings.Repeat("b", 100)
	got := SocketPath(a)
	if !strings.HasPrefix(got, "/tmp/tandem-") || len(got) > maxSocketPath ||
		got != SocketPath(a) || got == SocketPath(b) {
		t.Errorf("two long homes have %s and %s", got, SocketPath(b))
	}
	t.Setenv("TMPDIR", "/var/tmp")
	if other := SocketPath(a); other != got {
		t.Errorf("with another TMPDIR: %s, not %s", other, got)
	}
}

func TestListenReplacesADeadSocket(t *testing.T) {
	tmp := shortDir(t)
	for _, home := range []string{filepath.Join(tmp, "home"),
		filepath.Join(tmp, strings.Repeat("long", 30))} {
		for range 2 { // the second round finds the dead socket of the first
			l, err := Listen(home)
			if err != nil {
				t.Fatal(err)
			}
			path := SocketPath(home)
			t.Cleanup(func() { os.RemoveAll(filepath.Dir(path)) })
			for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
				if info, err := os.Stat(name); err != nil {
					t.Error(err)
				} else if info.Mode().Perm() != want {
					t.Errorf("%s has the mode %v, want %v", name, info.Mode(), want)
				}
			}
			// A crash leaves the file without a listener.
			l.Close()
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A link in place of the folder could lead the socket to another user, so Listen refuses it.
func TestListenRefusesALink(t *testing.T) {
	tmp := shortDir(t)
	home := filepath.Join(tmp, strings.Repeat("long", 30))
	if err := os.Symlink(t.TempDir(), filepath.Dir(SocketPath(home))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(filepath.Dir(SocketPath(home))) })
	_, err := Listen(home)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeForbidden {
		t.Errorf("Listen: %v", err)
	}
	_, err = Ask(t.Context(), Dial(home), GetState)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeForbidden {
		t.Errorf("State: %v", err)
	}
}

func TestCallWithoutAServerIsUnavailable(t *testing.T) {
	home := shortDir(t)
	dead := func(when string) {
		_, err := Ask(t.Context(), Dial(home), GetState)
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeUnavailable {
			t.Errorf("%s: %v", when, err)
		}
	}
	dead("no folder")
	if err := os.Mkdir(filepath.Join(home, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	dead("no socket")
	l, err := Listen(home)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := os.WriteFile(SocketPath(home), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dead("a dead socket")
}

func TestEventsAreReadLineByLine(t *testing.T) {
	read := func(s string) (out []string, err error) {
		for data, e := range Events(strings.NewReader(s)) {
			if e != nil {
				return out, e
			}
			out = append(out, string(data))
		}
		return out, nil
	}
	got, err := read(": keep-alive\n\ndata: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n\ndata: late\n\n")
	if err != nil || strings.Join(got, "|") != `{"a":1}|{"b":2}` {
		t.Errorf("%q %v", got, err)
	}
	got, err = read("data: {\"a\":1}\n\ndata: {\"error\":{\"message\":\"No.\",\"code\":\"disk_full\",\"param\":null}}\n\n")
	if e, ok := errors.AsType[*Error](err); len(got) != 1 || !ok || e.Code != CodeDiskFull ||
		e.Message != "No." {
		t.Errorf("%q %v", got, err)
	}
	if _, err = read("data: " + strings.Repeat("x", maxEvent+1)); err == nil {
		t.Error("a line without an end is an event")
	}
}
