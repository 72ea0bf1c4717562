package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"tandem/app/control"
)

func deleteCheckpoint(ctx context.Context, m *Main, args []string) error {
	f := m.flags("checkpoints delete")
	all := f.Bool("all", false, "delete all that go on from it too")
	yes := f.Bool("yes", false, "do not ask")
	rest, err := parseNamed(f, args, 1, 1)
	if err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		would, err := c.WouldDelete(ctx, rest[0], *all)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("delete %s, which frees %s",
			control.Plural(len(would.Checkpoints), "checkpoint"), control.ByteSize(would.Bytes))
		if err := m.confirm(ctx, f, *yes, what); err != nil {
			return err
		}
		d, err := c.DeleteCheckpoint(ctx, rest[0], *all)
		if err != nil {
			return err
		}
		fmt.Fprintf(m.Stderr, "tandem: deleted %s, which frees %s\n",
			control.Plural(len(d.Checkpoints), "checkpoint"), control.ByteSize(d.Bytes))
		return nil
	})
}

func forget(ctx context.Context, m *Main, args []string) error {
	f := m.flags("forget")
	var r control.ForgetRequest
	f.StringVar(&r.Model, "model", "", "the history of the model `ID`")
	f.StringVar(&r.Client, "client", "",
		"the history of the client `NAME`, as `tandem runs --json` has it")
	f.StringVar(&r.Day, "day", "", "the history of the day `YYYY-MM-DD`")
	yes := f.Bool("yes", false, "do not ask")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if r == (control.ForgetRequest{}) {
		return mistake(f, "say what to forget: --model, --client, --day, or several, which narrow each other")
	}
	return m.withServer(ctx, func(c *control.Client) error {
		would, err := c.WouldForget(ctx, r)
		if err != nil {
			return err
		}
		kept := would.Runs + would.Checkpoints + would.Tokens
		if kept+would.InFlight == 0 {
			fmt.Fprintln(m.Stderr, "tandem: there is nothing of that to forget; `tandem runs --json` has the names of models and clients")
			return nil
		}
		if kept > 0 { // otherwise nothing is lost
			if err := m.confirm(ctx, f, *yes, "forget "+would.Amount()); err != nil {
				return err
			}
		}
		gone, err := c.Forget(ctx, r)
		if err != nil {
			return err
		}
		fmt.Fprintf(m.Stderr, "tandem: forgot %s\n", gone.Amount())
		if gone.InFlight > 0 {
			fmt.Fprintf(m.Stderr,
				"tandem: %s in flight; nothing of their texts is kept, and `tandem forget` forgets the rest once they have ended\n",
				control.Plural(gone.InFlight, "run"))
		}
		return nil
	})
}

// errStays is returned where the answer to confirm is not yes.
var errStays = errors.New("nothing was deleted")

// confirm says what a verb would do and asks whether it may. With yes it does not ask. Without a
// terminal to ask at, a missing --yes is a mistake.
func (m *Main) confirm(ctx context.Context, f *flag.FlagSet, yes bool, what string) error {
	if yes {
		return nil
	}
	if !m.Typed || !m.Terminal {
		return mistake(f, "this would "+what+"; add --yes to do it, as there is no terminal to ask at")
	}
	fmt.Fprintf(m.Stderr, "tandem: this would %s; go on? [y/N] ", what)
	answer := make(chan string, 1)
	go func() { // it outlives an interrupted read
		line, _ := bufio.NewReader(m.Stdin).ReadString('\n') // the end of the input is no yes
		answer <- line
	}()
	select {
	case line := <-answer:
		if slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))) {
			return nil
		}
		return errStays
	case <-ctx.Done():
		fmt.Fprintln(m.Stderr) // below the ^C that the terminal shows
		return ctx.Err()
	}
}
