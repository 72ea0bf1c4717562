package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tandem/app/control"
)

func runsVerb(ctx context.Context, m *Main, args []string) error {
	if len(args) > 0 && args[0] == "show" {
		return showRun(ctx, m, args[1:])
	}
	if len(args) > 0 && args[0] == "list" {
		args = args[1:]
	}
	return listRuns(ctx, m, args)
}

func listRuns(ctx context.Context, m *Main, args []string) error {
	f := m.flags("runs")
	asJSON := f.Bool("json", false, "one JSON object a line")
	model := f.String("model", "", "of this model only")
	limit := f.Int("limit", 20, "at most so many, up to 1000; 0 lists 100")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if *limit < 0 {
		return mistake(f, "--limit must be at least 0")
	}
	return m.withServer(ctx, func(c *control.Client) error {
		// In this order: the row of a run that ends in between is complete.
		state, err := c.State(ctx)
		if err != nil {
			return err
		}
		list, err := c.Runs(ctx, control.RunQuery{Limit: *limit, Model: *model})
		if err != nil {
			return err
		}
		var rows [][]string
		for _, r := range list {
			if *asJSON {
				if err := writeJSON(m.Stdout, r); err != nil {
					return err
				}
				continue
			}
			if r.EndedAt.IsZero() {
				r.FinishReason = "running"
				// Its row has no model yet.
				if i := slices.IndexFunc(state.Active, func(a control.Active) bool { return a.RunID == r.ID }); i >= 0 {
					r.Model = state.Active[i].Model
				}
				r.Model = cmp.Or(r.Model, "-")
			}
			perVerify := "-"
			if r.Verifies > 0 {
				perVerify = fmt.Sprintf("%.2f", r.TokensPerVerify())
			}
			rows = append(rows, []string{fmt.Sprint(r.ID), clock(r.StartedAt), r.Model, r.Endpoint,
				fmt.Sprint(r.PromptTokens), fmt.Sprint(r.CompletionTokens), cmp.Or(r.Drafter, "-"), perVerify,
				fmt.Sprintf("%.0f", r.FirstTokenMS), pace(r), r.FinishReason})
		}
		if *asJSON {
			return nil
		}
		return table(m.Stdout, []string{"ID", "STARTED", "MODEL", "ENDPOINT", "PROMPT", "COMPLETION", "DRAFTER", "PER VERIFY", "FIRST MS", "TOKENS/S", "FINISH"}, rows)
	})
}

// pace is a run's tokens per second after the first one, - where it has none.
func pace(r control.Run) string {
	decode := r.TotalMS - r.FirstTokenMS
	if r.CompletionTokens < 2 || decode <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(r.CompletionTokens-1)/decode*1000)
}
