package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tandem/app/control"
	"tandem/app/terminal"
)

// runVerbs are the words that may follow "runs".
func runVerbs() []terminal.Verb {
	return []terminal.Verb{
		{Name: "list", Doc: "list them, the latest first, as far as the flags say"},
		{Name: "show", Args: "[ID]", Doc: "show one, the latest if none is named, and its rounds"},
		{Name: "resume", Args: "ID", Doc: "complete an answer that was cut off",
			Needs: "a run's id: `tandem runs` lists them"},
		{Name: "verify", Args: "ID", Doc: "compute an answer again, with nothing restored or drafted, and compare",
			Needs: "a run's id: `tandem runs` lists them"},
	}
}

func (m *Main) runs(ctx context.Context, args []string) error {
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

// runID parses a run's id.
func runID(f *flag.FlagSet, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, terminal.Mistake(f, fmt.Sprintf("%q is not a run's id; `tandem runs` lists them", text))
	}
	return id, nil
}

// namedRun reads the arguments of a verb that takes one run.
func (m *Main) namedRun(verb string, args []string) (id int64, asJSON bool, err error) {
	f := m.Flags(verb)
	f.BoolVar(&asJSON, "json", false, "one JSON object a line")
	rest, err := m.Parse(f, args, 1, 1)
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
		stop := m.watch(ctx, stateOf(c))
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

// replayRun verifies a run, and fails if its answer differs.
func (m *Main) replayRun(ctx context.Context, c *control.Client, id int64, asJSON bool) error {
	stop := m.watch(ctx, stateOf(c))
	defer stop()
	v, err := control.Call(ctx, c, control.VerifyRun, control.RunVerification{Run: id})
	if err != nil {
		return err
	}
	stop()
	if asJSON {
		if err := terminal.WriteJSON(m.Stdout, v); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("run %d: %s", id, v)
	if v.Same != v.Tokens {
		return errors.New(text)
	}
	if !asJSON {
		fmt.Fprintln(m.Stdout, text)
	}
	return nil
}

func listRuns(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("runs")
	asJSON := f.Bool("json", false, "one JSON object a line")
	var q control.RunQuery
	f.StringVar(&q.Model, "model", "", "only runs of the model `ID`")
	f.StringVar(&q.Client, "client", "", "only runs of the client `NAME`, as runs --json lists it")
	f.StringVar(&q.Endpoint, "endpoint", "", "only runs of the `ROUTE`, such as /v1/completions")
	f.StringVar(&q.Finish, "finish", "",
		"only runs that ended for this `REASON`, such as stop, length, error or running")
	f.BoolVar(&q.Failed, "failed", false, "only runs that failed or were interrupted")
	f.StringVar(&q.Day, "day", "", "only runs of the day `YYYY-MM-DD`")
	f.Func("since", "only runs begun since `WHEN`: how long ago, such as 90m, 2h or 3d, or a day or a moment in local time",
		sinceFlag(time.Now(), &q.Since))
	f.StringVar(&q.Search, "search", "",
		"only runs with this `TEXT` in a column of words, or in the time of the start")
	f.IntVar(&q.Limit, "limit", 20, "at most `N`, up to 1000; 0 lists 100")
	if _, err := m.Parse(f, args, 0, 0); err != nil {
		return err
	}
	if q.Limit < 0 {
		return terminal.Mistake(f, "--limit must be at least 0")
	}
	return m.withServer(ctx, func(c *control.Client) error {
		// The state comes first: the row of a run that ends in between is complete then.
		state, err := control.Ask(ctx, c, control.GetState)
		if err != nil {
			return err
		}
		list, err := control.Call(ctx, c, control.ListRuns, q)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, r := range list.Runs {
			if *asJSON {
				if err := terminal.WriteJSON(m.Stdout, r); err != nil {
					return err
				}
				continue
			}
			if r.EndedAt.IsZero() {
				r.FinishReason = "running"
				// Its row has no model yet.
				if i := slices.IndexFunc(state.Active,
					func(a control.Active) bool { return a.RunID == r.ID }); i >= 0 {
					r.Model = state.Active[i].Model
				}
				r.Model = cmp.Or(r.Model, "-")
			}
			perVerify := "-"
			if r.Verifies > 0 {
				perVerify = fmt.Sprintf("%.2f", r.TokensPerVerify())
			}
			verified := "-"
			if v, err := control.VerdictOf(r); err != nil { // a newer program wrote it
				verified = "?"
			} else if v != nil {
				verified = v.Word()
			}
			rows = append(rows, []string{fmt.Sprint(r.ID), clock(r.StartedAt), r.Model, r.Endpoint,
				fmt.Sprint(r.PromptTokens), fmt.Sprint(r.CompletionTokens), cmp.Or(r.Drafter, "-"),
				perVerify,
				fmt.Sprintf("%.0f", r.FirstTokenMS), r.Pace(), verified, r.FinishReason})
		}
		if *asJSON {
			return nil
		}
		return terminal.Table(m.Stdout, []string{"ID", "STARTED", "MODEL", "ENDPOINT", "PROMPT",
			"COMPLETION", "DRAFTER", "PER VERIFY", "FIRST MS", "TOKENS/S", "VERIFIED", "FINISH"},
			rows)
	})
}
