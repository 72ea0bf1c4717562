package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

func deleteCheckpoint(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "delete ID", Short: "say what goes with one, ask, and delete it",
		Args: checkpointArgs(1, 1)}
	f := cmd.Flags()
	all := f.Bool("all", false, "delete the checkpoints that continue it too")
	yes := f.Bool("yes", false, "do not ask")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, rest []string) error {
		would, err := control.Call(ctx, c, control.WouldDeleteCheckpoint,
			control.CheckpointDeletion{Checkpoint: rest[0], All: *all})
		if err != nil {
			return err
		}
		what := fmt.Sprintf("delete %s, which frees %s",
			control.Plural(len(would.Checkpoints), "checkpoint"), control.ByteSize(would.Bytes))
		if err := m.Confirm(cmd, *yes, what); err != nil {
			return err
		}
		d, err := control.Call(ctx, c, control.DeleteCheckpoint,
			control.CheckpointDeletion{Checkpoint: rest[0], All: *all})
		if err != nil {
			return err
		}
		m.Say("deleted %s, which frees %s",
			control.Plural(len(d.Checkpoints), "checkpoint"), control.ByteSize(d.Bytes))
		return nil
	})
	return cmd
}

func forget(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "forget", Short: "delete the history of a model, a client or a day; says what goes, and asks",
		Args: terminal.NoArgs}
	f := cmd.Flags()
	var r control.ForgetRequest
	f.StringVar(&r.Model, "model", "", "the history of the model `ID`")
	f.StringVar(&r.Client, "client", "",
		"the history of the client `NAME`, as `tandem runs --json` has it")
	f.StringVar(&r.Day, "day", "", "the history of the day `YYYY-MM-DD`")
	yes := f.Bool("yes", false, "do not ask")
	cmd.RunE = func(_ *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if r == (control.ForgetRequest{}) {
			return terminal.Mistake(cmd, "say what to forget: --model, --client, --day, or several, which narrow each other")
		}
		return m.withServer(ctx, func(c *control.Client) error {
			would, err := control.Call(ctx, c, control.WouldForget, r)
			if err != nil {
				return err
			}
			kept := would.Runs + would.Checkpoints + would.Tokens
			if kept+would.InFlight == 0 {
				m.Say("nothing matches, so nothing was deleted; `tandem runs --json` has the names of models and clients")
				return nil
			}
			if kept > 0 { // otherwise nothing is lost
				if err := m.Confirm(cmd, *yes, "forget "+would.Amount()); err != nil {
					return err
				}
			}
			gone, err := control.Call(ctx, c, control.Forget, r)
			if err != nil {
				return err
			}
			m.Say("forgot %s", gone.Amount())
			if gone.InFlight > 0 {
				m.Say("%s in flight; nothing of their texts is kept, and `tandem forget` forgets the rest once they have ended",
					control.Plural(gone.InFlight, "run"))
			}
			return nil
		})
	}
	return cmd
}
