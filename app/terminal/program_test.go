package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
)

// An advisedError has more to say to a person on a terminal than its text.
type advisedError struct{}

func (advisedError) Error() string { return "It failed." }
func (advisedError) ToDo() string  { return "Try again." }

// run runs a program with a command line and what is typed, and returns the exit code and what is
// printed. Verb show takes flags and up to two names, verb drop asks first, and verb list has another
// below it.
func run(t *testing.T, typed string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	p := &Program{Name: "prog", Version: "1.2.3", Stdin: strings.NewReader(typed), Stdout: &out, Stderr: &errs,
		Terminal: typed != "", Typed: typed != "", Getenv: func(string) string { return "dumb" }}
	show := &cobra.Command{Use: "show NAME [NAME]", Short: "show names", Args: Args(1, 2, "a name")}
	addr := show.Flags().String("addr", "here", "the `ADDRESS`")
	show.Flags().Int("again", 1, "show them this many `TIMES`")
	show.Flags().Float64("pace", 1, "the `PACE`")
	show.RunE = func(_ *cobra.Command, names []string) error {
		if slices.Contains(names, "mute") {
			return &ExitError{Code: 9}
		}
		if slices.Contains(names, "advised") {
			return fmt.Errorf("show: %w", advisedError{})
		}
		if slices.Contains(names, "odd") {
			return errors.New("no model a\x1b[2J")
		}
		if slices.Contains(names, "none") {
			return &ExitError{Code: 7, Err: errors.New("no such name")}
		}
		fmt.Fprintln(p.Stdout, *addr, names)
		return nil
	}
	drop := &cobra.Command{Use: "drop", Short: "drop all", Args: NoArgs, SuggestFor: []string{"remove"}}
	yes := drop.Flags().Bool("yes", false, "do not ask")
	drop.RunE = func(c *cobra.Command, _ []string) error {
		err := p.Confirm(c, *yes, "drop all")
		if err == nil {
			fmt.Fprintln(p.Stdout, "dropped")
		}
		return err
	}
	one := &cobra.Command{Use: "one N", Short: "list one", Args: Args(1, 1, "a number")}
	whole := one.Flags().Bool("whole", false, "all of it")
	one.RunE = func(_ *cobra.Command, args []string) error {
		fmt.Fprintln(p.Stdout, "one", args[0], *whole)
		return nil
	}
	list := &cobra.Command{Use: "list", Short: "list names",
		RunE: func(*cobra.Command, []string) error { return List[string]{Empty: "none yet"}.Print(p, false, nil) }}
	bench := Verbs(&cobra.Command{Use: "bench", Short: "measure", Annotations: map[string]string{"": "the lab has more"}},
		&cobra.Command{Use: "plain", Short: "plain", Run: func(*cobra.Command, []string) {}})
	p.Root = Verbs(&cobra.Command{Use: "prog", Long: "prog shows names", Example: "  prog show a",
		Annotations: map[string]string{"judge": "the lab has that"}}, show, drop, Verbs(list, one), bench)
	code = p.Run(t.Context(), args)
	return code, out.String(), errs.String()
}

// A command line has an exit code, and says on standard error what is wrong with it in at most three
// lines. Help that was asked for goes to standard output.
func TestCommandLines(t *testing.T) {
	const front = "prog shows names\n\nVerbs:\n  bench       measure\n"
	const usage = "show names\n\nUsage:\n  prog show NAME [NAME] [flags]\n\nFlags:\n      --addr ADDRESS   the ADDRESS (default \"here\")\n      --again TIMES    show them this many TIMES (default 1)\n"
	for _, c := range []struct {
		args, typed    string
		code           int
		stdout, stderr string // their beginnings
	}{
		{args: "", stdout: front},
		{args: "-h", stdout: front},
		{args: "--help", stdout: front},
		{args: "help", stdout: front},
		{args: "help all", stdout: "prog bench\n    measure\nprog bench plain\n    plain\n"},
		{args: "help show", stdout: usage},
		{args: "help list one", stdout: "list one\n"},
		{args: "help sing", code: 2, stderr: "prog: there is no verb \"sing\"; `prog help all` lists them\n"},
		{args: "help list sing", code: 2, stderr: "prog list: there is no verb \"sing\"; `prog list -h` lists them\n"},
		{args: "--version", stdout: "prog 1.2.3\n"},
		{args: "version", stdout: "prog 1.2.3\n"},
		{args: "sing", code: 2, stderr: "prog: there is no verb \"sing\"; `prog help all` lists them\n"},
		{args: "shwo", code: 2, stderr: "prog: there is no verb \"shwo\"; did you mean show?\n"},
		{args: "hlep", code: 2, stderr: "prog: there is no verb \"hlep\"; did you mean help?\n"},
		{args: "hel", code: 2, stderr: "prog: there is no verb \"hel\"; did you mean help?\n"},
		{args: "list hlep", code: 2, stderr: "prog list: there is no verb \"hlep\"; `prog list -h` lists them\n"},
		{args: "remove", code: 2, stderr: "prog: there is no verb \"remove\"; did you mean drop?\n"},
		{args: "judge", code: 2, stderr: "prog: there is no verb \"judge\"; the lab has that\n"},
		{args: "show a", stdout: "here [a]\n"},
		{args: "show a --addr there b", stdout: "there [a b]\n"},
		{args: "show -h", stdout: usage},
		{args: "show", code: 2, stderr: "prog show needs a name: prog show NAME [NAME]\n`prog show -h` explains it\n"},
		{args: "show a b c", code: 2, stderr: "prog show takes 2 arguments; leave out \"c\"\n"},
		{args: "show --adr x a", code: 2,
			stderr: "prog show: there is no flag --adr; did you mean --addr ADDRESS?\n`prog show -h` lists the flags\n"},
		{args: "show a -addr x", code: 2, stderr: "prog show: there is no flag -addr; did you mean --addr ADDRESS?\n"},
		{args: "show a --again 99999999999999999999", code: 2, stderr: "prog show: --again must be in range, not \"99999999999999999999\"\n"},
		{args: "show a -a", code: 2, stderr: "prog show: there is no flag -a; did you mean --addr ADDRESS, --again TIMES?\n"},
		{args: "show a --again some", code: 2, stderr: "prog show: --again must be a whole number, not \"some\"\n`prog show -h` lists the flags\n"},
		{args: "show a --again 1.5", code: 2, stderr: "prog show: --again must be a whole number, not \"1.5\"\n"},
		{args: "show a --pace 0,7", code: 2, stderr: "prog show: --pace must be a number, not \"0,7\"\n"},
		{args: "list one 1 --whole=maybe", code: 2, stderr: "prog list one: --whole must be true or false, not \"maybe\"\n"},
		{args: "show a --port=1", code: 2, stderr: "prog show: there is no flag --port; did you mean --addr ADDRESS?\n"},
		{args: "show a --addr", code: 2, stderr: "prog show: flag needs an argument: --addr\n"},
		{args: "show none", code: 7, stderr: "prog: no such name\n"},
		{args: "show advised", code: 1, stderr: "prog: show: It failed. Try again.\n"},
		{args: "show mute", code: 9},
		{args: "show odd", code: 1, stderr: "prog: no model a\ufffd[2J\n"},
		{args: "list", stderr: "prog: none yet\n"},
		{args: "list one 1 --whole", stdout: "one 1 true\n"},
		{args: "list --whole one 1", stdout: "one 1 true\n"},
		{args: "list --whole", code: 2, stderr: "prog list: there is no flag --whole without a verb\n"},
		{args: "list --o\x1bdd", code: 2, stderr: "prog list: there is no flag --o\ufffddd\n"},
		{args: "list two", code: 2, stderr: "prog list: there is no verb \"two\"; "},
		{args: "bench", code: 2, stderr: "prog bench needs a verb; `prog bench -h` lists them\n"},
		{args: "bench recall", code: 2, stderr: "prog bench: there is no verb \"recall\"; the lab has more\n"},
		{args: "drop x", code: 2, stderr: "prog drop takes only flags; leave out \"x\"\n"},
		{args: "drop --yes", stdout: "dropped\n"},
		{args: "drop", code: 2, stderr: "prog drop: this would drop all; add --yes to do it"},
		{args: "drop", typed: "Yes\n", stdout: "dropped\n", stderr: "prog: this would drop all; go on? [y/N] "},
		{args: "drop", typed: "\n", code: 1,
			stderr: "prog: this would drop all; go on? [y/N] prog: nothing was deleted\n"},
	} {
		code, stdout, stderr := run(t, c.typed, strings.Fields(c.args)...)
		starts := func(text, with string) bool { return strings.HasPrefix(text, with) && (with != "" || text == "") }
		if code != c.code || !starts(stdout, c.stdout) || !starts(stderr, c.stderr) || strings.Count(stderr, "\n") > 3 {
			t.Errorf("prog %s, typed %q: exit %d, %q and\n%s\nwant exit %d, %q and\n%s", c.args, c.typed,
				code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
	}
}

// A prompt may begin with a dash.
func TestArgumentWithDashIsNoFlag(t *testing.T) {
	for _, arg := range []string{"-m tiny", "- buy milk", "--and so on"} {
		want := fmt.Sprintf("prog show: there is no flag %q; put text that begins with a dash after --\n", arg)
		if code, _, stderr := run(t, "", "show", arg); code != 2 || !strings.HasPrefix(stderr, want) {
			t.Errorf("%q: exit %d, %s", arg, code, stderr)
		}
	}
}

// Printed lines have no control characters, into a pipe too: a program such as less may show them.
func TestPrintedLinesHaveNoControlCharacters(t *testing.T) {
	for _, shown := range []bool{false, true} {
		var out strings.Builder
		p := &Program{Stdout: &out, Shown: shown}
		if err := p.Print("%s\n", "a\x1b[2J\a\u009b\tb\u202e"); err != nil || out.String() != "a\ufffd[2J\ufffd\ufffd\tb\ufffd\n" {
			t.Errorf("on a terminal %v: printed %q, %v", shown, out.String(), err)
		}
	}
}

// A sentence has no control characters, whatever the names in it have.
func TestSentencesHaveNoControlCharacters(t *testing.T) {
	var errs strings.Builder
	p := &Program{Name: "prog", Stderr: &errs}
	p.Say("%s is gone: %v", "a\x1b[2J", errors.New("no \rfile"))
	p.Remark("%s answers", "b\x1b[1m")
	if want := "prog: a\ufffd[2J is gone: no \ufffdfile\nb\ufffd[1m answers\n"; errs.String() != want {
		t.Errorf("said %q, want %q", errs.String(), want)
	}
	for _, name := range []string{"a\x1b[2J", "a\x7f", "a\u009b2J", "a\u202eb", "a\u200bb", "a\rb"} {
		errs.Reset()
		p.Logger(true).With(name, name).WithGroup(name).Warn(name, "model", name, name, errors.New(name))
		if got := errs.String(); Text(got) != got || !strings.Contains(got, "model") {
			t.Errorf("of %q it logged %q", name, got)
		}
	}
}

// What is said on a terminal breaks between words, and elsewhere it is one line.
func TestSentencesFitTheTerminal(t *testing.T) {
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 60}); err != nil {
		t.Fatal(err)
	}
	var plain strings.Builder
	long := strings.TrimSpace(strings.Repeat("a sentence ", 9))
	for _, to := range []io.Writer{&plain, tty} {
		p := &Program{Name: "prog", Stderr: to, Terminal: to == tty, Getenv: func(string) string { return "" }}
		for _, err := range []error{Mistake(&cobra.Command{Use: "prog"}, long), errors.New(long)} {
			p.Root = &cobra.Command{Use: "prog"}
			p.Root.AddCommand(&cobra.Command{Use: "show", RunE: func(*cobra.Command, []string) error { return err }})
			p.Run(t.Context(), []string{"show"})
		}
		p.Say("%s", long)
		p.Remark("%s", long)
	}
	tty.Close()
	shown, _ := io.ReadAll(screen) // its end is an error
	lines := strings.Split(strings.TrimSpace(sgr.ReplaceAllString(string(shown), "")), "\r\n")
	if len(lines) != 8 || strings.Count(plain.String(), "\n") != 4 {
		t.Errorf("lines: %q, and in a file %q", lines, plain.String())
	}
	for _, line := range lines {
		if words := strings.Fields(line); len(line) > 60 || !slices.Contains([]string{"a", "sentence"}, words[len(words)-1]) {
			t.Errorf("%q is too wide or ends within a word", line)
		}
	}
}

// No error and no object shows what would move the cursor or turn a line around. The object is the same.
func TestErrorsAndObjectsHaveNoControlCharacters(t *testing.T) {
	for _, name := range []string{"a\x1b]0;x\ab", "a\x1b[2Jb", "a\u009b2Jb", "a\u202eb", "a\U000e0001b", "a\x7fb"} {
		var out, errs strings.Builder
		p := &Program{Name: "prog", Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
		p.Root = &cobra.Command{Use: "prog"}
		p.Root.AddCommand(&cobra.Command{Use: "show", RunE: func(*cobra.Command, []string) error {
			return errors.Join(WriteJSON(p.Stdout, name), errors.New(name))
		}})
		p.Run(t.Context(), []string{"show"})
		var back string
		if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back != name {
			t.Errorf("%q came back as %q: %v", name, back, err)
		}
		for _, shown := range []string{strings.TrimSpace(out.String()), strings.TrimSpace(errs.String())} {
			if shown != Text(shown) || shown == "" {
				t.Errorf("printed %q", shown)
			}
		}
	}
}

// An interrupt ends a question.
func TestInterruptEndsAQuestion(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never, errs := make(blocked), &strings.Builder{}
	defer close(never)
	p := &Program{Name: "prog", Stdin: never, Stderr: errs, Terminal: true, Typed: true}
	c := &cobra.Command{Use: "drop"}
	c.SetContext(ctx)
	if err := p.Confirm(c, false, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("the answer is %v, want %v", err, context.Canceled)
	}
}

// A blocked reader has nothing to read until it is closed.
type blocked chan struct{}

func (b blocked) Read([]byte) (int, error) { <-b; return 0, errors.New("closed") }

// A report of findings is a table or JSON, and an error if something is to be mended.
func TestFindingsAreATableOrJSON(t *testing.T) {
	findings := []Finding{{"git", true, "2.50"}, {"token", false, "write\x1b one"}}
	for asJSON, want := range map[bool]string{
		false: "✓  git    2.50\n✗  token  write\ufffd one\n",
		true: `{"name":"git","ok":true,"detail":"2.50"}` + "\n" +
			`{"name":"token","ok":false,"detail":"write\u001b one"}` + "\n",
	} {
		var out strings.Builder
		p := &Program{Stdout: &out}
		err := p.PrintFindings(findings, asJSON)
		if err == nil || err.Error() != "1 problem found" || out.String() != want {
			t.Errorf("JSON %t: %v and\n%s\nwant\n%s", asJSON, err, out.String(), want)
		}
		if err := p.PrintFindings(findings[:1], asJSON); err != nil {
			t.Errorf("JSON %t: all is well, and the error is %v", asJSON, err)
		}
	}
}
