package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tandem/app/control"
)

// Each script in testdata/*.txt holds twice: with no process on the home, so that the verbs work by
// themselves, and with a process that serves it.
//
// A script is a list of lines. "# " begins a comment:
//
//	tandem ARGS       a command line that exits with 0
//	N tandem ARGS     a command line that exits with N
//	stdin TEXT        the standard input of the command lines that follow
//	stdout PATTERN    the last standard output matches PATTERN, a regular expression
//	                  with (?m) and (?s) set
//	stderr PATTERN    the last standard error matches PATTERN
//	! stdout PATTERN  the last standard output does not match PATTERN; also with stderr
//	only MODE         the next line counts only in this mode: alone or served
//
// 'Quotes' keep spaces together. \n in TEXT is a newline. A command line can name folders and a file:
//
//   - $TINY has a random model;
//   - $GGUF is another, in one file, and $GGUFS is its folder;
//   - $BARE has a random model without a chat template;
//   - $WORK is empty.
func TestVerbsFollowTheirScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata has no scripts: %v", err)
	}
	vars := map[string]string{"TINY": tinyModel(t, "tiny", nil), "BARE": tinyModel(t, "bare", nil),
		"WORK": t.TempDir(), "GGUF": filepath.Join(t.TempDir(), "small.gguf")}
	vars["GGUFS"] = filepath.Dir(vars["GGUF"])
	recorded, err := os.ReadFile("../../../models/testdata/gguf/llama.gguf")
	if err := errors.Join(err, os.WriteFile(vars["GGUF"], recorded, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(vars["BARE"], "chat_template.jinja")); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"alone", "served"} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+mode, func(t *testing.T) {
				home := newHome(t)
				if mode == "served" {
					p := serveProcess(t, home)
					defer p.stop(t)
				}
				s := &script{console: newConsole(t, home), client: client(t, home), vars: vars,
					mode: mode}
				for i, line := range strings.Split(string(b), "\n") {
					if err := s.line(t, line); err != nil {
						t.Fatalf("%s:%d: %s: %v\nstdout:\n%s\nstderr:\n%s",
							file, i+1, line, err, s.stdout, s.stderr)
					}
				}
			})
		}
	}
}

// A script runs the lines of one file in one mode.
type script struct {
	*console
	client *control.Client
	vars   map[string]string
	mode   string // alone or served
	skip   bool   // the next line is for the other mode
}

// line runs one line. It returns an error if the line does not hold or is malformed.
func (s *script) line(t *testing.T, line string) error {
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
	case "tandem":
		args, err := split(os.Expand(rest, func(name string) string { return s.vars[name] }))
		if err != nil {
			return err
		}
		if s.mode == "served" {
			// The client gets its answer a moment before the history gets the row.
			waitState(t, s.client, func(st control.State) bool { return len(st.Active) == 0 })
		}
		if code := s.tandem(t.Context(), args...); code != want {
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
		s.skip = rest != s.mode
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
