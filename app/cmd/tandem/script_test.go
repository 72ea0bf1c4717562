package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tandem/app/control"
)

// TestScripts runs testdata/*.txt, each twice: where no process serves the home, so that the verbs
// work by themselves, and beside a process that does.
//
// A script is a list of lines, # begins a comment:
//
//	tandem ARGS       a command line that exits with 0
//	N tandem ARGS     one that exits with N
//	stdin TEXT        what the following command lines read
//	stdout PATTERN    a regular expression that the last output matches,
//	stderr PATTERN    (?m) and (?s) set
//	! stdout PATTERN  one that it does not match
//	only PATTERN      whether the next line counts: alone or served
//
// 'Quotes' keep spaces together, \n in TEXT is a newline, and $TINY is the folder of a random
// model, $BARE one without a chat template, $WORK an empty folder.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	vars := map[string]string{"TINY": tinyModel(t, "tiny", nil), "BARE": tinyModel(t, "bare", nil),
		"WORK": t.TempDir()}
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

type script struct {
	*console
	client *control.Client
	vars   map[string]string
	mode   string
	skip   bool // the next line is of the other mode
}

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
			// A client has its answer a moment before the history has the row.
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
			return fmt.Errorf("%s is not as it should be", word)
		}
	case "only":
		s.skip = rest != s.mode
	default:
		return fmt.Errorf("no such line: %s", word)
	}
	return nil
}

// split cuts a line at spaces outside single quotes.
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
		err = fmt.Errorf("an open quote")
	}
	return args, err
}
