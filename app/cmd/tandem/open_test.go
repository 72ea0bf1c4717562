package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
)

// While a command without an endpoint has the home folder, verbs that need one say what to end.
func TestWithoutAnEndpointVerbsSayWhatToEnd(t *testing.T) {
	c := newConsole(t, newHome(t))
	chat := newMain()
	chat.Getenv = func(name string) string { return c.env[name] }
	err := chat.withServer(t.Context(), func(*control.Client) error {
		for verb, want := range map[string]string{"open": "a command such as `tandem chat` runs (pid ",
			"launch claude --print": "end it, then start `tandem serve`",
			"serve":                 "without an endpoint; end it first, for example a chat in another terminal"} {
			if code := c.tandem(t.Context(), strings.Fields(verb)...); code != 1 || !strings.Contains(c.stderr, want) {
				t.Errorf("tandem %s: exit %d, %q, want that %q", verb, code, c.stderr, want)
			}
		}
		if out := c.must(t, "doctor"); !strings.Contains(out, "`tandem chat`") {
			t.Errorf("doctor does not name the command:\n%s", out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Only its owner can read the page with the code.
func TestOnlyTheOwnerReadsThePageWithTheCode(t *testing.T) {
	home, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	page := filepath.Join(home, "run", "open.html")
	for _, before := range []func() error{
		func() error { return nil },
		func() error { return os.Chmod(page, 0o666) },
		func() error {
			return errors.Join(os.WriteFile(other, nil, 0o666), os.Remove(page), os.Symlink(other, page))
		},
	} {
		if err := before(); err != nil {
			t.Fatal(err)
		}
		path, err := redirect(home, "http://127.0.0.1:8263/#code")
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(other); len(text) > 0 {
			t.Errorf("the code is in another file: %s", text)
		}
		for name, want := range map[string]os.FileMode{path: 0o600,
			filepath.Dir(path): 0o700 | os.ModeDir} {
			if info, err := os.Stat(name); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
			}
		}
		page, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(page), `url=http://127.0.0.1:8263/#code"`) {
			t.Errorf("the page is %q, %v", page, err)
		}
	}
}
