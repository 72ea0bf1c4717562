package main

import (
	"context"
	"fmt"

	"tandem/app/control"
	"tandem/app/terminal"
)

func deleteCheckpoint(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("checkpoints delete")
	all := f.Bool("all", false, "delete all that go on from it too")
	yes := f.Bool("yes", false, "do not ask")
	rest, err := m.parseNamed(f, args, 1, 1)
	if err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		would, err := control.Call(ctx, c, control.WouldDeleteCheckpoint,
			control.CheckpointDeletion{Checkpoint: rest[0], All: *all})
		if err != nil {
			return err
		}
		what := fmt.Sprintf("delete %s, which frees %s",
			control.Plural(len(would.Checkpoints), "checkpoint"), control.ByteSize(would.Bytes))
		if err := m.Confirm(ctx, f, *yes, what); err != nil {
			return err
		}
		d, err := control.Call(ctx, c, control.DeleteCheckpoint,
			control.CheckpointDeletion{Checkpoint: rest[0], All: *all})
		if err != nil {
			return err
		}
		fmt.Fprintf(m.Stderr, "tandem: deleted %s, which frees %s\n",
			control.Plural(len(d.Checkpoints), "checkpoint"), control.ByteSize(d.Bytes))
		return nil
	})
}

func (m *Main) forget(ctx context.Context, args []string) error {
	f := m.Flags("forget")
	var r control.ForgetRequest
	f.StringVar(&r.Model, "model", "", "the history of the model `ID`")
	f.StringVar(&r.Client, "client", "",
		"the history of the client `NAME`, as `tandem runs --json` has it")
	f.StringVar(&r.Day, "day", "", "the history of the day `YYYY-MM-DD`")
	yes := f.Bool("yes", false, "do not ask")
	if _, err := m.Parse(f, args, 0, 0); err != nil {
		return err
	}
	if r == (control.ForgetRequest{}) {
		return terminal.Mistake(f, "say what to forget: --model, --client, --day, or several, which narrow each other")
	}
	return m.withServer(ctx, func(c *control.Client) error {
		would, err := control.Call(ctx, c, control.WouldForget, r)
		if err != nil {
			return err
		}
		kept := would.Runs + would.Checkpoints + would.Tokens
		if kept+would.InFlight == 0 {
			fmt.Fprintln(m.Stderr, "tandem: there is nothing of that to forget; `tandem runs --json` has the names of models and clients")
			return nil
		}
		if kept > 0 { // otherwise nothing is lost
			if err := m.Confirm(ctx, f, *yes, "forget "+would.Amount()); err != nil {
				return err
			}
		}
		gone, err := control.Call(ctx, c, control.Forget, r)
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
