package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

// A person who pipes something in beside a prompt is told that it is not read; a script is not.
func TestPipeBesideAPromptIsNotRead(t *testing.T) {
	c := newConsole(t, newHome(t))
	c.stdin = "a change"
	for _, x := range []struct {
		terminal, typed, tells bool
		args                   string
	}{{true, false, true, "hi"}, {true, false, true, "pocket hi"}, {false, false, false, "hi"}, {true, true, false, "hi"}, {true, false, false, "-"},
		{true, false, false, "pocket"}} {
		c.terminal, c.typed = x.terminal, x.typed
		c.must(t, append([]string{"run", "--max-tokens", "1"}, strings.Fields(x.args)...)...)
		if tells := strings.Contains(c.stderr, "Standard input is not read"); tells != x.tells {
			t.Errorf("run %s: %q, want a remark: %t", x.args, c.stderr, x.tells)
		}
	}
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
