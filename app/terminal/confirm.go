package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// errStays is returned where the answer to Confirm is not yes.
var errStays = errors.New("nothing was deleted")

// Confirm says what a verb would do and asks whether it may. With yes it does not ask. Without a
// terminal to ask at, a missing --yes is a mistake.
func (p *Program) Confirm(c *cobra.Command, yes bool, what string) error {
	if yes {
		return nil
	}
	if !p.Typed || !p.Terminal {
		return Mistake(c, "this would "+what+"; add --yes to do it, as there is no terminal to ask at")
	}
	yes, err := p.Ask(c.Context(), "this would "+what+"; go on?")
	if err == nil && !yes {
		err = errStays
	}
	return err
}

// Ask asks a question that is yes or no, on the terminals of standard input and error, or of the editor.
// The end of the input is a no.
func (p *Program) Ask(ctx context.Context, question string) (yes bool, err error) {
	var line string
	if p.editor != nil {
		p.Remark("%s", question)
		if line, err = p.editor.ReadLine(ctx, "[y/N] "); err == io.EOF {
			err = nil
		}
	} else {
		fmt.Fprint(p.Stderr, p.fit(p.Name+": "+Text(question)+" [y/N]"), " ")
		line, err = p.read(ctx, func() (string, error) {
			line, _ := bufio.NewReader(p.Stdin).ReadString('\n')
			return line, nil
		})
	}
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), err
}

// ReadInput reads standard input to its end, or most bytes of it, or until ctx ends.
func (p *Program) ReadInput(ctx context.Context, most int64) (string, error) {
	return p.read(ctx, func() (string, error) {
		b, err := io.ReadAll(io.LimitReader(p.Stdin, most))
		return string(b), err
	})
}

// read calls from, which reads standard input and outlives ctx.
func (p *Program) read(ctx context.Context, from func() (string, error)) (string, error) {
	type input struct {
		text string
		err  error
	}
	read := make(chan input, 1)
	go func() {
		text, err := from()
		read <- input{text, err}
	}()
	select {
	case in := <-read:
		return in.text, in.err
	case <-ctx.Done():
		if p.Typed {
			fmt.Fprintln(p.Stderr) // below the ^C that the terminal shows
		}
		return "", ctx.Err()
	}
}
