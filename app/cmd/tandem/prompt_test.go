package main

import (
	"bytes"
	"context"
	"io"
	"testing"
)

// notify tells of the first read.
type notify struct {
	io.Reader
	read chan struct{}
}

func (n *notify) Read(p []byte) (int, error) {
	close(n.read)
	return n.Reader.Read(p)
}

// TestInterruptedPrompt: whoever is asked to type a prompt may leave.
func TestInterruptedPrompt(t *testing.T) {
	silent, end := io.Pipe()
	defer end.Close()
	for typed, want := range map[bool]string{
		true:  "tandem: reading the prompt; end it with Ctrl-D\ntandem: interrupted\n",
		false: "tandem: interrupted\n",
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		in := &notify{silent, make(chan struct{})}
		var out, err bytes.Buffer
		home := newHome(t)
		m := &Main{Stdin: in, Stdout: &out, Stderr: &err, Typed: typed, Getenv: func(string) string { return home }}
		code := make(chan int)
		go func() { code <- m.Run(ctx, []string{"run", "-"}) }()
		<-in.read
		interrupt()
		if c := <-code; c != 130 || out.Len() > 0 || err.String() != want {
			t.Errorf("typed %t: exit %d, %q %q", typed, c, &out, &err)
		}
	}
}
