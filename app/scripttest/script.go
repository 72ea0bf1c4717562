// Package scripttest holds programs of the command line to scripts in files. It is for tests alone.
package scripttest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A Script is a list of lines. "# " begins a comment:
//
//	PROGRAM ARGS      a command line that exits with 0
//	N PROGRAM ARGS    a command line that exits with N
//	stdin TEXT        the standard input of the command lines that follow
//	stdout PATTERN    the last standard output matches PATTERN, a regular expression
//	                  with (?m) and (?s) set
//	stderr PATTERN    the last standard error matches PATTERN
//	! stdout PATTERN  the last standard output does not match PATTERN; also with stderr
//	only MODE         the next line counts only in this mode
//
// 'Quotes' keep spaces together. \n in TEXT is a newline. $NAME in a command line is one of Vars.
type Script struct {
	Program string // as command lines name it
	Vars    map[string]string
	Mode    string
	// Run runs one command line.
	Run func(stdin string, args []string) (code int, stdout, stderr string)

	stdin, stdout, stderr string
	skip                  bool // the next line is for another mode
}

// Follow runs the lines of a file. The first that does not hold ends the test.
func (s *Script) Follow(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if err := s.line(line); err != nil {
			t.Fatalf("%s:%d: %s: %v\nstdout:\n%s\nstderr:\n%s", file, i+1, line, err, s.stdout,
				s.stderr)
		}
	}
}

// line runs one line. It returns an error if the line does not hold or is malformed.
func (s *Script) line(line string) error {
	line, _, _ = strings.Cut(line, "# ")
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	if s.skip {
		s.skip = false
		return nil
	}
	word, rest, _ := strings.Cut(line, " ")
	want := 0
	if n, err := strconv.Atoi(word); err == nil {
		want = n
		word, rest, _ = strings.Cut(rest, " ")
	}
	negated := word == "!"
	if negated {
		word, rest, _ = strings.Cut(rest, " ")
	}
	switch word {
	case s.Program:
		args, err := split(os.Expand(rest, func(name string) string { return s.Vars[name] }))
		if err != nil {
			return err
		}
		var code int
		if code, s.stdout, s.stderr = s.Run(s.stdin, args); code != want {
			return fmt.Errorf("exit %d, want %d", code, want)
		}
	case "stdin":
		s.stdin = strings.ReplaceAll(rest, `\n`, "\n")
	case "stdout", "stderr":
		text := s.stdout
		if word == "stderr" {
			text = s.stderr
		}
		re, err := regexp.Compile("(?ms)" + rest)
		if err != nil {
			return err
		}
		if re.MatchString(text) == negated {
			return fmt.Errorf("%s matches: %t, want %t", word, negated, !negated)
		}
	case "only":
		s.skip = rest != s.Mode
	default:
		return fmt.Errorf("the line begins with the unknown word %q", word)
	}
	return nil
}

// split cuts a line at spaces outside single quotes. It fails if a quote stays open.
func split(text string) (args []string, err error) {
	quoted, open, arg := false, false, ""
	for _, r := range text + " " {
		switch {
		case r == '\'':
			quoted, open = !quoted, true
		case r == ' ' && !quoted:
			if open {
				args = append(args, arg)
			}
			open, arg = false, ""
		default:
			open, arg = true, arg+string(r)
		}
	}
	if quoted {
		err = fmt.Errorf("a quote stays open in %q", text)
	}
	return args, err
}
