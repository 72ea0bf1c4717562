package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
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
			return m.PrintJSON(state)
		}
		memory := control.ByteSize(state.ActiveBytes) + " in use"
		if state.MemoryRoom > 0 {
			memory += fmt.Sprintf(", room for %s of models", control.ByteSize(state.MemoryRoom))
		}
		rows := [][]any{
			{"address", cmp.Or(state.Address, "none: the endpoint is closed")},
			{"process", fmt.Sprintf("%d, for %v", state.PID, time.Since(state.StartedAt).Round(time.Second))},
			{"model", fmt.Sprintf("%s, %s", state.Choice, state.Phase.Words())},
			{"memory", memory},
		}
		for _, x := range [][]string{{"problem", state.Error}, {"warning", state.Warning}} {
			if x[1] != "" {
				rows = append(rows, []any{x[0], terminal.Marked{Cell: x[1], As: terminal.Wrong}})
			}
		}
		for _, d := range state.Downloads {
			rows = append(rows, []any{"download", fmt.Sprintf("%s, %s", d.ID, control.ByteSize(d.Done))})
		}
		const most = 10 // requests that fit one screen
		rows = append(rows, []any{"requests", fmt.Sprint(len(state.Active))})
		for _, a := range state.Active[:min(most, len(state.Active))] {
			rows = append(rows, []any{fmt.Sprintf("  %d", a.RunID), fmt.Sprintf("%s, %s, %s",
				control.ClientName(a.Client), a.Model, doing(a))})
		}
		return m.Facts(rows)
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
			Columns: []terminal.Column{{Name: "MODEL"}, {Name: "MEMORY"}, {Name: "CONTEXT"}, {Name: "DRAFTER", Spare: true},
				{Name: "NOW", Wraps: true}},
			Row: func(l control.Loaded) []any {
				var now []string
				for _, a := range state.Active {
					if a.Model == l.ID {
						now = append(now, doing(a))
					}
				}
				memory := terminal.Figure(control.ByteSize(l.Bytes) + l.KVNote())
				return []any{terminal.ID(l.ID), memory, l.ContextLength,
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
			Columns: []terminal.Column{{}, {}, {Wraps: true}},
			Row: func(l control.LogLine) []any {
				level := terminal.Marked{Cell: l.Level}
				if l.Level == slog.LevelError.String() {
					level.As = terminal.Wrong
				}
				return []any{terminal.Clock(l.Time), level, l.Text}
			},
			Empty: "nothing was logged yet; `tandem serve --verbose` logs more",
		}.Print(&m.Program, *asJSON, log.Lines)
	})
	return cmd
}
