package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"tandem/app/control"
)

// A notify is a reader that closes read at its first Read. It is read once.
type notify struct {
	io.Reader
	read chan struct{}
}

func (n *notify) Read(p []byte) (int, error) {
	close(n.read)
	return n.Reader.Read(p)
}

// Ctrl-C ends a verb that waits for a prompt.
func TestPromptCanBeInterrupted(t *testing.T) {
	silent, end := io.Pipe()
	defer end.Close()
	for typed, want := range map[bool]string{
		true:  "tandem: reading the prompt; end it with Ctrl-D\n\ntandem: interrupted\n",
		false: "tandem: interrupted\n",
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		in := &notify{silent, make(chan struct{})}
		var out, err bytes.Buffer
		home := newHome(t)
		m := newMain()
		m.Stdin, m.Stdout, m.Stderr, m.Typed = in, &out, &err, typed
		m.Getenv = func(string) string { return home }
		code := make(chan int)
		go func() { code <- m.Run(ctx, []string{"run", "-"}) }()
		<-in.read
		interrupt()
		if c := <-code; c != 130 || out.Len() > 0 || err.String() != want {
			t.Errorf("typed %t: exit %d, %q %q, want 130 and %q", typed, c, &out, &err, want)
		}
	}
}

// Piped text follows the prompt, after an empty line.
func TestPipeFollowsAPrompt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "change")
	must(t, os.WriteFile(file, []byte("+x\n-y"), 0o600))
	change, err := os.Open(file)
	must(t, err)
	defer change.Close()
	null, err := os.Open(os.DevNull)
	must(t, err)
	defer null.Close()
	for _, x := range []struct {
		words []string
		stdin io.Reader
		typed bool
		want  string
	}{
		{[]string{"hi"}, strings.NewReader("a change\n"), false, "hi\n\na change\n"},
		{[]string{"what is it?"}, change, false, "what is it?\n\n+x\n-y"},
		{[]string{"hi"}, null, false, "hi"},
		{[]string{"hi"}, strings.NewReader(" \n\n"), false, "hi"},
		{[]string{"hi"}, strings.NewReader("typed"), true, "hi"},
		{[]string{"-"}, strings.NewReader("a change"), false, "a change"},
		{nil, strings.NewReader("a change"), false, "a change"},
		{[]string{""}, strings.NewReader("a change"), false, "the prompt is empty"},
		{[]string{"hi"}, strings.NewReader("\xff"), false, "the prompt is not valid UTF-8"},
		{[]string{"hi", "there"}, strings.NewReader("a change"), false, "put it in quotes"},
	} {
		m := newMain()
		m.Stdin, m.Stderr, m.Typed = x.stdin, io.Discard, x.typed
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		text, err := m.prompt(newRunFlags(m, cmd), runWords{"pocket", x.words})
		if text != x.want && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%q: %q, %v, want %q", x.words, text, err, x.want)
		}
	}
	c := newConsole(t, newHome(t))
	c.stdin = strings.Repeat("a change\n", 20)
	one, two := c.must(t, "run", "--json", "--max-tokens", "1", "hi"), ""
	c.stdin = ""
	if two = c.must(t, "run", "--json", "--max-tokens", "1", "pocket", "hi"); one == two {
		t.Errorf("with a pipe and without one the model says %s", one)
	}
}

// A pipe that stays open is waited for, and a person is told.
func TestPipeThatStaysOpenIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wait, told := range map[time.Duration]bool{time.Second: false, time.Minute: true} {
			m, says := newMain(), &transcript{}
			in, out := io.Pipe()
			m.Stdin, m.Stderr = in, says
			cmd := &cobra.Command{}
			cmd.SetContext(t.Context())
			time.AfterFunc(wait, func() { out.Close() })
			text, err := m.prompt(newRunFlags(m, cmd), runWords{"pocket", []string{"hi"}})
			if text != "hi" || err != nil || strings.Contains(says.String(), "waiting for the end of standard input") != told {
				t.Errorf("after %v: %q, %v, %q", wait, text, err, says)
			}
		}
	})
}

// An answer that is cut off ends its line before the message.
func TestCutOffAnswerEndsItsLine(t *testing.T) {
	home, text := newHome(t), ""
	l, err := control.Listen(home)
	must(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"phase":"ready","choice":"x"}`)
			return
		}
		for _, piece := range []string{text, ""} {
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", piece)
		}
		fmt.Fprint(w, `data: {"error":{"message":"Tandem is stopping.","code":"not_ready"}}`+"\n\n")
	}))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	defer server.Close()
	c := newConsole(t, home)
	for _, x := range []struct{ text, want string }{{"", ""}, {"half", "half\n"},
		{"whole\n", "whole\n"}} {
		text = x.text
		if code := c.tandem(t.Context(), "run", "a"); code != 1 || c.stdout != x.want ||
			c.stderr != "tandem: Tandem is stopping.\n" {
			t.Errorf("after %q: exit %d, %q %q, want %q", x.text, code, c.stdout, c.stderr, x.want)
		}
	}
}
