package main

import (
	"context"

	"github.com/spf13/cobra"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/terminal"
)

func doctor(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "doctor", Short: "check what works here and what does not", Args: terminal.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	report := cmd.Flags().Bool("report", false,
		"print what to send with a problem: versions, machine, settings, log and figures of runs, without your texts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *report {
			return m.printReport(cmd.Context())
		}
		return m.PrintFindings(app.Examine(cmd.Context(), m.options(m.Logger(false))), *asJSON)
	}
	return cmd
}

// printReport prints the file that the window saves.
func (m *Main) printReport(ctx context.Context) error {
	return m.withServer(ctx, func(c *control.Client) error {
		b, err := control.Ask(ctx, c, control.GetDiagnosis)
		if err != nil {
			return err
		}
		return m.Print("%s", b)
	})
}
