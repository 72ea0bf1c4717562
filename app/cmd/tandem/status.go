package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

func status(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "show the address, the model, memory and requests in flight",
		Args: terminal.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object")
	cmd.RunE = m.served(func(ctx context.Context, c *control.Client) error {
		state, err := control.Ask(ctx, c, control.GetState)
		if err != nil {
			return err
		}
		if *asJSON {
			return terminal.WriteJSON(m.Stdout, state)
		}
		memory := control.ByteSize(state.ActiveBytes) + " in use"
		if state.MemoryRoom > 0 {
			memory += fmt.Sprintf(", room for %s of models", control.ByteSize(state.MemoryRoom))
		}
		rows := [][]string{
			{"process", fmt.Sprintf("%d, for %v", state.PID, time.Since(state.StartedAt).Round(time.Second))},
			{"model", fmt.Sprintf("%s, %s", state.Choice, state.Phase)},
			{"memory", memory},
		}
		for _, x := range [][]string{{"problem", state.Error}, {"warning", state.Warning}} {
			if x[1] != "" {
				rows = append(rows, x)
			}
		}
		for _, d := range state.Downloads {
			rows = append(rows, []string{"download", fmt.Sprintf("%s, %s", d.ID, control.ByteSize(d.Done))})
		}
		const most = 10 // requests that fit one screen
		rows = append(rows, []string{"requests", fmt.Sprint(len(state.Active))})
		for _, a := range state.Active[:min(most, len(state.Active))] {
			rows = append(rows, []string{fmt.Sprintf("  %d", a.RunID), fmt.Sprintf("%s, %s, %s",
				cmp.Or(a.Client, "a client without a name"), a.Model, doing(a))})
		}
		return terminal.Table(m.Stdout, []string{"address", cmp.Or(state.Address, "none: the endpoint is closed")}, rows)
	})
	return cmd
}

// doing says what a request in flight does.
func doing(a control.Active) string {
	switch {
	case a.Waits():
		return "waiting"
	case a.Restores():
		return "restoring the prompt"
	case a.CompletionTokens == 0:
		done, all := a.Reading()
		return fmt.Sprintf("reading, %s of %s tokens", control.Grouped(done), control.Grouped(all))
	}
	return fmt.Sprintf("writing, %s tokens", control.Grouped(a.CompletionTokens))
}

// listLoaded returns the verb that lists the models in memory.
func listLoaded(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "ps", Short: "list the models in memory, and what they do", Args: terminal.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	cmd.RunE = m.served(func(ctx context.Context, c *control.Client) error {
		state, err := control.Ask(ctx, c, control.GetState)
		if err != nil {
			return err
		}
		return terminal.List[control.Loaded]{
			Header: []string{"MODEL", "MEMORY", "CONTEXT", "DRAFTER", "NOW"},
			Row: func(l control.Loaded) []string {
				var now []string
				for _, a := range state.Active {
					if a.Model == l.ID {
						now = append(now, doing(a))
					}
				}
				return []string{l.ID, control.ByteSize(l.Bytes) + rowsOf(&l), fmt.Sprint(l.ContextLength),
					cmp.Or(l.Drafter, "-"), cmp.Or(strings.Join(now, "; "), "idle")}
			},
			Empty: "no model is in memory; the next request loads one, and `tandem use MODEL` does",
		}.Print(&m.Program, *asJSON, state.InMemory)
	})
	return cmd
}

// logs returns the verb that prints the latest lines of the log.
func logs(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "logs", Short: "print the latest lines of the server's log", Args: terminal.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	cmd.RunE = m.served(func(ctx context.Context, c *control.Client) error {
		log, err := control.Ask(ctx, c, control.GetLog)
		if err != nil {
			return err
		}
		return terminal.List[control.LogLine]{
			Row:   func(l control.LogLine) []string { return []string{clock(l.Time), l.Level, l.Text} },
			Empty: "nothing was logged yet",
		}.Print(&m.Program, *asJSON, log.Lines)
	})
	return cmd
}
