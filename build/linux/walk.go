package linux

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/build/setup"
)

// firstAnswer is how long installing, serving and a first answer may take in the root.
const firstAnswer = time.Minute

//go:embed walk.sh
var walk string

// walkIn does what the pages for newcomers say, in a root with the folder dist at /mnt. It checks what
// they print, and how long the first answer took.
func walkIn(ctx context.Context, b *setup.Builder, root, dist string) error {
	script := walk
	var steps []step
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(b.Root, page))
		if err != nil {
			return err
		}
		script += "begin_page " + page + "\n"
		for _, s := range readSteps(page, string(text)) {
			if s.lacks != "" {
				command, _, _ := strings.Cut(s.commands, "\n")
				fmt.Fprintf(b.Out, "left out, because the root has no %s: %s: %s\n", s.lacks, s.at, command)
				continue
			}
			steps = append(steps, s)
			script += s.script()
		}
		script += "end_page\n"
	}
	home, err := os.MkdirTemp("", "dist-home-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	cmd := b.Command(ctx, "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", root, "/",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", home, "/root",
		"--ro-bind", dist, "/mnt", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "sh", "-s")
	var out strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(script), &out, &out
	err = cmd.Run()
	fmt.Fprintln(b.Out, screen(out.String()))
	if err != nil {
		last, _, _ := strings.Cut(out.String()[strings.LastIndex(out.String(), stepBegins)+1:], "\n")
		return fmt.Errorf("the walk in the root ends after %q: %w", last, err)
	}
	return checkWalk(b.Out, steps, out.String())
}

// What walk.sh prints before the page and line of a step, and before the time when it was done.
const stepBegins, stepEnds = "\n== ", "\n-- "

// checkWalk compares what the steps printed with what the pages say, and writes how long they took.
func checkWalk(w io.Writer, steps []step, out string) error {
	var first, took time.Duration
	for _, s := range steps {
		_, rest, _ := strings.Cut(out, stepBegins+s.at+"\n")
		terminal, rest, done := strings.Cut(rest, stepEnds)
		ms, rest, _ := strings.Cut(rest, "\n")
		var err error
		if took, err = time.ParseDuration(ms); err != nil || !done {
			return fmt.Errorf("walk.sh does not say when %s was done: %w", s.at, err)
		}
		if err := s.check(terminal); err != nil {
			return err
		}
		if first == 0 && strings.Contains(terminal, "Paris") {
			first = took
		}
		out = rest
	}
	fmt.Fprintf(w, "%d steps of %s in %s; the first answer after %s\n", len(steps), strings.Join(pages, " and "),
		setup.Seconds(took), setup.Seconds(first))
	if first == 0 || first > firstAnswer {
		return fmt.Errorf("the first answer was there after %v, want at most %v", first, firstAnswer)
	}
	return nil
}
