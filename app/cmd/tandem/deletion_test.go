package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
)

// A verb says what it would delete before it does so. Without a terminal it deletes nothing unless
// the command line says yes.
func TestDeletionAsksFirst(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	defer p.stop(t)
	console := newConsole(t, home)
	list := func() []control.Checkpoint {
		return lines[control.Checkpoint](t, console.must(t, "checkpoints", "--json"))
	}
	p.say(t, map[string]string{"role": "system", "content": strings.Repeat("You write Go. ", 10)},
		map[string]string{"role": "user", "content": "Write Contains."})
	// The checkpoints are written after the answer, and nothing tells which is the last. The loop
	// waits for two, and for half a second without a new one.
	for i, n, quiet := 0, 0, 0; i < 500 && (quiet < 50 || n < 2); i, quiet = i+1, quiet+1 {
		time.Sleep(10 * time.Millisecond)
		if now := len(list()); now != n {
			n, quiet = now, 0
		}
	}
	all := list()
	first := all[0]
	var sum int64
	for _, c := range all {
		if sum += c.Bytes; c.ToToken < first.ToToken {
			first = c
		}
	}
	forget := []string{"forget", "--model", "pocket"}
	remove := []string{"checkpoints", "delete", "--all", first.ID}
	for _, c := range []struct {
		typed, terminal bool
		stdin           string
		code            int
		says            string
	}{
		{false, false, "y\n", 2, "this would"},
		{true, false, "y\n", 2, "add --yes"},
		{false, true, "y\n", 2, "no terminal to ask at"},
		{true, true, "n\n", 1, "go on? [y/N] tandem: nothing was deleted\n"},
		{true, true, "\n", 1, "nothing was deleted"},
		{true, true, "", 1, "nothing was deleted"},
		{true, true, "yesterday\n", 1, "nothing was deleted"},
	} {
		console.typed, console.terminal, console.stdin = c.typed, c.terminal, c.stdin
		for _, args := range [][]string{forget, remove} {
			if code := console.tandem(t.Context(), args...); code != c.code ||
				!strings.Contains(console.stderr, c.says) {
				t.Errorf("%v, %+v: exit %d, standard error %s", args, c, code, console.stderr)
			}
			if !strings.Contains(console.stderr, control.Plural(len(all), "checkpoint")) ||
				!strings.Contains(console.stderr, "which frees "+control.ByteSize(sum)) {
				t.Errorf("%v with %d checkpoints of %s in all: standard error %s",
					args, len(all), control.ByteSize(sum), console.stderr)
			}
		}
	}
	console.typed, console.terminal, console.stdin = false, false, ""
	if left := list(); len(left) != len(all) {
		t.Fatalf("%d of %d checkpoints are left, want all", len(left), len(all))
	}
	console.must(t, append(remove, "--yes")...)
	if !strings.Contains(console.stderr, "which frees "+control.ByteSize(sum)) || len(list()) > 0 {
		t.Errorf("standard error %s, and %d checkpoints are left", console.stderr, len(list()))
	}
	console.typed, console.terminal, console.stdin = true, true, "Y\n"
	console.must(t, forget...)
	if !regexp.MustCompile("this would forget 1 run, 0 checkpoints and [1-9][0-9]* tokens of remembered texts, which frees [1-9][0-9]* B; go on\\? \\[y/N\\] " +
		"tandem: forgot 1 run, 0 checkpoints and [1-9]").MatchString(console.stderr) {
		t.Errorf("standard error %s", console.stderr)
	}
	// It does not ask if there is nothing to delete.
	console.typed, console.terminal, console.stdin = false, false, ""
	console.must(t, forget...)
}

// Ctrl-C ends a verb that waits for an answer.
func TestQuestionCanBeInterrupted(t *testing.T) {
	silent, end := io.Pipe()
	defer end.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	in := &notify{silent, make(chan struct{})}
	var out bytes.Buffer
	m := newMain()
	m.Stdin, m.Stderr, m.Typed, m.Terminal = in, &out, true, true
	done := make(chan error)
	m.Root.SetContext(ctx)
	go func() { done <- m.Confirm(m.Root, false, "forget all") }()
	<-in.read
	interrupt()
	if err := <-done; err != context.Canceled || !strings.HasSuffix(out.String(), "[y/N] \n") {
		t.Errorf("confirm returns %v after %q, want %v", err, out.String(), context.Canceled)
	}
}
