package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// eachVerb calls fn for every verb of the program and for those below it.
func eachVerb(c *cobra.Command, fn func(*cobra.Command)) {
	for _, v := range c.Commands() {
		fn(v)
		eachVerb(v, fn)
	}
}

// Every verb says what it does and which words it takes. Its help fits a terminal of 80 columns.
func TestEveryVerbExplainsItself(t *testing.T) {
	verbs := 0
	eachVerb(newMain().Root, func(v *cobra.Command) {
		verbs++
		if v.Short == "" || v.Args == nil || !v.Runnable() {
			t.Errorf("%s has the line %q, and takes words: %t, runs: %t", v.CommandPath(), v.Short, v.Args != nil, v.Runnable())
		}
		c := newConsole(t, newHome(t))
		help := c.must(t, append(strings.Fields(v.CommandPath())[1:], "--help")...)
		for line := range strings.Lines(help) {
			if n := utf8.RuneCountInString(line) - 1; n > 80 {
				t.Errorf("%s -h has a line of %d columns: %s", v.CommandPath(), n, line)
			}
		}
	})
	if verbs < 40 {
		t.Errorf("the program has %d verbs", verbs)
	}
}

// Without a verb, the program prints one screen.
func TestFirstHelpFitsAScreen(t *testing.T) {
	c := newConsole(t, newHome(t))
	lines := strings.Split(strings.TrimSuffix(c.must(t), "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("help has %d lines, want 24 at most:\n%s", len(lines), c.stdout)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("the line %q has %d columns, want 80 at most", line, n)
		}
	}
}

// A mistake costs at most three lines.
func TestMistakesAreShort(t *testing.T) {
	c := newConsole(t, newHome(t))
	for _, line := range []string{"fly", "lst", "runs shwo", "models fly", "bench fly", "bench", "help fly", "serve --port 1",
		"serve --host x", "serve --listen x", "serve -addr x", "run", "run a b", "chat", "run --nonsense x", "run --depth some x",
		"run --max-tokens", "rm", "rm a b", "use", "stop", "show", "pull", "keys add", "settings set", "checkpoints pin",
		"list x", "list --jsn", "--json", "completion tcsh"} {
		code := c.tandem(t.Context(), strings.Fields(line)...)
		if n := strings.Count(c.stderr, "\n"); code != 2 || n > 3 || n == 0 || c.stdout != "" {
			t.Errorf("tandem %s: exit %d, %d lines, %q on standard output\n%s", line, code, n, c.stdout, c.stderr)
		}
	}
}

// The manual has a page for every verb, and is the same each time.
func TestManualHasEveryVerb(t *testing.T) {
	var pages [2]string
	for i := range pages {
		dir := t.TempDir()
		newConsole(t, newHome(t)).must(t, "man", dir)
		pageOf := func(verb string) string { return filepath.Join(dir, strings.ReplaceAll(verb, " ", "-")+".1") }
		want := []string{pageOf("tandem"), pageOf("tandem completion zsh")}
		eachVerb(newMain().Root, func(v *cobra.Command) {
			if v.IsAvailableCommand() {
				want = append(want, pageOf(v.CommandPath()))
			}
		})
		for _, page := range want {
			if _, err := os.Stat(page); err != nil {
				t.Error(err)
			}
		}
		b, err := os.ReadFile(filepath.Join(dir, "tandem-serve.1"))
		if err != nil {
			t.Fatal(err)
		}
		pages[i] = string(b)
	}
	if pages[0] != pages[1] || !strings.Contains(pages[0], "allow-origin") {
		t.Errorf("the page of serve is\n%s\nand then\n%s", pages[0], pages[1])
	}
}
