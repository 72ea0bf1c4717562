package terminal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// run runs a program of two verbs with a command line and what is typed, and returns the exit code and
// what is printed. Verb show takes flags and up to two names, verb drop asks first.
func run(t *testing.T, typed string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	p := &Program{Name: "prog", Version: "1.2.3", Stdin: strings.NewReader(typed), Stdout: &out, Stderr: &errs,
		Terminal: typed != "", Typed: typed != ""}
	p.Verbs = []Verb{
		{Name: "show", Args: "NAME [NAME]", Doc: "show names", Needs: "a name, prog show NAME",
			Run: func(_ context.Context, args []string) error {
				f := p.Flags("show")
				addr := f.String("addr", "here", "the `ADDRESS`")
				names, err := p.Parse(f, args, 1, 2)
				if err != nil {
					return err
				}
				if slices.Contains(names, "none") {
					return &ExitError{Code: 7, Err: errors.New("no such name")}
				}
				fmt.Fprintln(p.Stdout, *addr, names)
				return nil
			}},
		{Name: "drop", Doc: "drop all", Run: func(ctx context.Context, args []string) error {
			f := p.Flags("drop")
			yes := f.Bool("yes", false, "do not ask")
			if _, err := p.Parse(f, args, 0, 0); err != nil {
				return err
			}
			err := p.Confirm(ctx, f, *yes, "drop all")
			if err == nil {
				fmt.Fprintln(p.Stdout, "dropped")
			}
			return err
		}},
	}
	code = p.Run(t.Context(), args)
	return code, out.String(), errs.String()
}

// A command line has an exit code, and says on standard error what is wrong with it.
func TestCommandLines(t *testing.T) {
	const usage = "usage: prog show [--addr ADDRESS] NAME [NAME]\nshow names\n  -addr ADDRESS\n" +
		"    \tthe ADDRESS (default \"here\")\n"
	for _, c := range []struct {
		args, typed string
		code        int
		stdout      string
		stderr      string // its beginning
	}{
		{args: "", code: 2, stderr: "usage: prog VERB"},
		{args: "--help", stderr: "usage: prog VERB"},
		{args: "--version", stdout: "prog 1.2.3\n"},
		{args: "sing", code: 2, stderr: "prog: there is no verb \"sing\"\nusage: prog VERB"},
		{args: "show a", stdout: "here [a]\n"},
		{args: "show a --addr there b", stdout: "there [a b]\n"},
		{args: "show -h", stderr: usage},
		{args: "show", code: 2, stderr: "prog show needs a name, prog show NAME\n" + usage},
		{args: "show a b c", code: 2, stderr: "prog show takes 2 arguments; \"c\" is one too many\n"},
		{args: "show --adr x a", code: 2,
			stderr: "prog show: there is no flag --adr; did you mean --addr ADDRESS?\n`prog show -h` lists the flags\n"},
		{args: "show a --port 1", code: 2, stderr: "prog show: there is no flag --port; did you mean --addr ADDRESS?\n"},
		{args: "show a --addr", code: 2, stderr: "prog show: flag needs an argument: --addr\n"},
		{args: "show none", code: 7, stderr: "prog: no such name\n"},
		{args: "drop x", code: 2, stderr: "prog drop takes no arguments but flags; \"x\" is one too many\n"},
		{args: "drop --yes", stdout: "dropped\n"},
		{args: "drop", code: 2, stderr: "prog drop: this would drop all; add --yes to do it"},
		{args: "drop", typed: "Yes\n", stdout: "dropped\n", stderr: "prog: this would drop all; go on? [y/N] "},
		{args: "drop", typed: "\n", code: 1,
			stderr: "prog: this would drop all; go on? [y/N] prog: nothing was deleted\n"},
	} {
		code, stdout, stderr := run(t, c.typed, strings.Fields(c.args)...)
		if code != c.code || stdout != c.stdout || !strings.HasPrefix(stderr, c.stderr) ||
			c.stderr == "" && stderr != "" {
			t.Errorf("prog %s, typed %q: exit %d, %q and\n%s\nwant exit %d, %q and\n%s", c.args, c.typed,
				code, stdout, stderr, c.code, c.stdout, c.stderr)
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
	if err := p.Confirm(ctx, flag.NewFlagSet("prog", flag.ContinueOnError), false, "x"); !errors.Is(err, context.Canceled) {
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
		false: "    WHAT   FOUND\nok  git    2.50\n!!  token  write\ufffd one\n",
		true: `{"name":"git","ok":true,"detail":"2.50"}` + "\n" +
			`{"name":"token","ok":false,"detail":"write\u001b one"}` + "\n",
	} {
		var out strings.Builder
		p := &Program{Stdout: &out}
		err := p.PrintFindings(findings, asJSON)
		if err == nil || err.Error() != "1 of 2 checks found something to mend" || out.String() != want {
			t.Errorf("JSON %t: %v and\n%s\nwant\n%s", asJSON, err, out.String(), want)
		}
		if err := p.PrintFindings(findings[:1], asJSON); err != nil {
			t.Errorf("JSON %t: all is well, and the error is %v", asJSON, err)
		}
	}
}
