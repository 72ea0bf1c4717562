package texts

import (
	"os"
	"path/filepath"
	"testing"
)

func TestForget(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	fill := func() {
		s.say(ada, Origin{Model: "m", Client: "Ada", Run: 1}, "first ", "one two three")
		s.say(ada, Origin{Model: "n", Client: "Ada", Run: 2}, "second ", "four five six")
		s.say(bob, Origin{Model: "m", Client: "Bob", Run: 3}, "third ", "seven eight nine")
	}
	for _, c := range []struct {
		name  string
		which Which
		left  string
		files int
	}{
		{"a model", func(_ Owner, o Origin) bool { return o.Model == "m" }, "second ", 1},
		{"a client", func(_ Owner, o Origin) bool { return o.Client == "Ada" }, "third ", 1},
		{"a run", func(_ Owner, o Origin) bool { return o.Run == 2 }, "first third ", 2},
		{"a key", func(o Owner, _ Origin) bool { return o == bob }, "first second ", 1},
		{"none", func(Owner, Origin) bool { return false }, "first second third ", 2},
		{"all", func(Owner, Origin) bool { return true }, "", 0},
	} {
		fill()
		would, err := s.Would(c.which)
		gone, err2 := s.Forget(c.which)
		if err != nil || err2 != nil || would != gone {
			t.Errorf("%s: %v, %v: %+v would go, %+v went", c.name, err, err2, would, gone)
		}
		for range 2 { // the second time after a restart
			left := ""
			for _, x := range []struct {
				Owner
				context, name string
			}{{ada, "one two", "first "}, {ada, "four five", "second "},
				{bob, "seven eight", "third "}} {
				if s.guess(x.Owner, x.context) != "" {
					left += x.name
				}
			}
			if left != c.left {
				t.Errorf("%s: left are %q, want %q", c.name, left, c.left)
			}
			s = openStore(t, dir)
		}
		if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil ||
			len(names) != c.files {
			t.Errorf("%s: %v, %v; want %d files", c.name, names, err, c.files)
		}
	}
}

// A memory in the process is cleared too when its file is missing, replaced or damaged.
func TestForgetWithoutTheFile(t *testing.T) {
	all := func(Owner, Origin) bool { return true }
	none := func(Owner, Origin) bool { return false }
	for _, c := range []struct {
		name   string
		change func(path string, data []byte) error
		which  Which
	}{
		{"gone", func(path string, _ []byte) error { return os.Remove(path) }, all},
		{"a damaged head", func(path string, data []byte) error {
			data[30] ^= 1
			return os.WriteFile(path, data, 0o600)
		}, all},
		{"another client's", func(path string, _ []byte) error {
			return writeFile(path, bob, []record{{Count: 9, tokens: ids("Bob's one")}})
		}, none},
	} {
		s := openStore(t, t.TempDir())
		s.say(ada, Origin{Run: 1}, "first ", "one two three")
		path := s.file(t, ada)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.change(path, data); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Forget(c.which); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, context := range []string{"one two", "Bob's"} {
			if got := s.guess(ada, context); got != "" {
				t.Errorf("%s: guessed %q of a forgotten text", c.name, got)
			}
		}
	}
	// The file was replaced by a new one.
	s := openStore(t, t.TempDir())
	s.say(ada, Origin{Run: 1}, "first ", "one two three")
	if err := os.Remove(s.file(t, ada)); err != nil {
		t.Fatal(err)
	}
	s.say(ada, Origin{Run: 2}, "second ", "four five six")
	if _, err := s.Forget(func(_ Owner, o Origin) bool { return o.Run == 1 }); err != nil {
		t.Error(err)
	}
	if got := s.guess(ada, "one two"); got != "" {
		t.Errorf("guessed %q of a forgotten text", got)
	}
	if got := s.guess(ada, "four five"); got != " six" {
		t.Errorf("guessed %q of a text that stays", got)
	}
}

// A request that is open when something is forgotten leaves nothing. One that comes later does.
func TestRequestInFlightLeavesNothingAfterForget(t *testing.T) {
	s := openStore(t, t.TempDir())
	u := s.Open(ada, Origin{})
	if _, err := s.Forget(func(Owner, Origin) bool { return true }); err != nil {
		t.Fatal(err)
	}
	u.Add(Text{Tokens: ids("hello world")})
	u.Close()
	if n := s.tokens(t); n > 0 {
		t.Errorf("%d tokens are kept", n)
	}
	s.say(ada, Origin{}, "hello world", "")
	if n := s.tokens(t); n != len("hello world") {
		t.Errorf("%d tokens are kept after that", n)
	}
}
