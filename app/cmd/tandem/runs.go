package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"

	"tandem/app/control"
)

func runsVerb(ctx context.Context, m *Main, args []string) error {
	sub := ""
	if len(args) > 0 {
		sub = args[0]
	}
	switch sub {
	case "show":
		return showRun(ctx, m, args[1:])
	case "resume":
		return resumeRun(ctx, m, args[1:])
	case "verify":
		return verifyRun(ctx, m, args[1:])
	case "list":
		args = args[1:]
	}
	return listRuns(ctx, m, args)
}

// runID reads a run's id.
func runID(f *flag.FlagSet, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, mistake(f, fmt.Sprintf("%q is no run's id; `tandem runs` lists them", text))
	}
	return id, nil
}

// namedRun reads the arguments of a verb that takes one run.
func (m *Main) namedRun(verb string, args []string) (id int64, asJSON bool, err error) {
	f := m.flags(verb)
	f.BoolVar(&asJSON, "json", false, "one JSON object a line")
	rest, err := parse(f, args, 1, 1)
	if err == nil {
		id, err = runID(f, rest[0])
	}
	return id, asJSON, err
}

func resumeRun(ctx context.Context, m *Main, args []string) error {
	id, asJSON, err := m.namedRun("runs resume", args)
	if err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		stop := m.watch(ctx, c.State)
		defer stop()
		resp, err := c.ResumeRun(ctx, id)
		if err != nil {
			return err
		}
		return m.print(resp.Body, asJSON, stop)
	})
}

func verifyRun(ctx context.Context, m *Main, args []string) error {
	id, asJSON, err := m.namedRun("runs verify", args)
	if err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error { return m.replayRun(ctx, c, id, asJSON) })
}

// replayRun verifies a run, and fails if it differs.
func (m *Main) replayRun(ctx context.Context, c *control.Client, id int64, asJSON bool) error {
	stop := m.watch(ctx, c.State)
	defer stop()
	v, err := c.VerifyRun(ctx, id)
	if err != nil {
		return err
	}
	stop()
	if asJSON {
		if err := writeJSON(m.Stdout, v); err != nil {
			return err
		}
	}
	switch {
	case v.Same == v.Tokens && !asJSON:
		fmt.Fprintf(m.Stdout, "run %d: all %s come again, with nothing restored and nothing drafted\n", id, plural(v.Tokens, "token"))
		return nil
	case v.Same == v.Tokens:
		return nil
	}
	text := fmt.Sprintf("run %d: %s of %d come again", id, plural(v.Same, "token"), v.Tokens)
	switch {
	case v.Now == "" && v.Answered == "":
		return fmt.Errorf("%s; then it ends", text)
	case v.Tie:
		return fmt.Errorf("%s; then %q was answered, and now comes %q: the model takes both for as likely but for rounding", text, v.Answered, v.Now)
	}
	return fmt.Errorf("%s; then %q was answered, and now comes %q", text, v.Answered, v.Now)
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
	if r.CompletionTokens < 2 || decode <= 0 || r.Resumes > 0 { // of a resumed one nobody knows which tokens were new
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(r.CompletionTokens-1)/decode*1000)
}
