package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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

// Ask asks a question that is yes or no, on the terminals of standard input and error.
func (p *Program) Ask(ctx context.Context, question string) (yes bool, err error) {
	fmt.Fprintf(p.Stderr, "%s: %s [y/N] ", p.Name, Text(question))
	answer := make(chan string, 1)
	go func() { // it outlives an interrupted read
		line, _ := bufio.NewReader(p.Stdin).ReadString('\n') // the end of the input is a no
		answer <- line
	}()
	select {
	case line := <-answer:
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
	case <-ctx.Done():
		fmt.Fprintln(p.Stderr) // below the ^C that the terminal shows
		return false, ctx.Err()
	}
}
