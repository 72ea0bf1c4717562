package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

// runID parses a run's id.
func runID(cmd *cobra.Command, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, terminal.Mistake(cmd, fmt.Sprintf("%q is not a run's id; `tandem runs` lists them", text))
	}
	return id, nil
}

// ofRun lets a verb take a run's id and --json.
func ofRun(m *Main, use, short string,
	run func(ctx context.Context, c *control.Client, id int64, asJSON bool) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short,
		Args: terminal.Args(1, 1, "a run's id, which `tandem runs` lists")}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := runID(cmd, args[0])
		if err != nil {
			return err
		}
		return m.withServer(cmd.Context(), func(c *control.Client) error { return run(cmd.Context(), c, id, *asJSON) })
	}
	return cmd
}

func resumeRun(m *Main) *cobra.Command {
	return ofRun(m, "resume ID", "complete an answer that was cut off",
		func(ctx context.Context, c *control.Client, id int64, asJSON bool) error {
			r, err := control.Call(ctx, c, control.GetRun, id)
			if err != nil {
				return err
			}
			stop := m.watchAs(ctx, stateOf(c), r.Client)
			defer stop()
			resp, err := c.ResumeRun(ctx, id)
			if err != nil {
				return err
			}
			_, err = m.print(resp.Body, terminal.AnswerForm{JSON: asJSON}, stop)
			return err
		})
}

func verifyRun(m *Main) *cobra.Command {
	return ofRun(m, "verify ID", "compute an answer again without cache and drafts, and compare", m.replayRun)
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
	text := fmt.Sprintf("run %d: %s", id, v)
	switch {
	case asJSON:
		err = m.PrintJSON(v)
	case v.Same == v.Tokens:
		err = m.Print("%s", text)
	}
	if err == nil && v.Same != v.Tokens {
		err = errors.New(text)
	}
	return err
}

func listRuns(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list them, the latest first; flags narrow the list",
		Args: terminal.NoArgs}
	f := cmd.Flags()
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
		terminal.Since(time.Now(), &q.Since))
	f.StringVar(&q.Search, "search", "",
		"only runs with this `TEXT` in a column of words, an error, the time of the start, or a title of the latest 1000")
	f.IntVar(&q.Limit, "limit", 20, "at most `N`, up to 1000; 0 lists 100")
	cmd.RunE = func(_ *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if q.Limit < 0 {
			return terminal.Mistake(cmd, "--limit must be at least 0")
		}
		return m.withServer(ctx, func(c *control.Client) error {
			// The state comes first: the row of a run that ends in between is complete then.
			state, err := control.Ask(ctx, c, control.GetState)
			if err != nil {
				return err
			}
			q.Titles = !*asJSON
			list, err := control.Call(ctx, c, control.ListRuns, q)
			if err != nil {
				return err
			}
			empty := "nothing matches; `tandem runs` lists the latest requests"
			if cmd.Flags().NFlag() == 0 {
				empty = "there are no requests yet; `tandem run 'PROMPT'` makes one"
			}
			return terminal.List[control.Run]{
				Columns: runColumns,
				Row:     func(r control.Run) []any { return runRow(state, list, r) },
				Empty:   empty,
			}.Print(&m.Program, *asJSON, list.Runs)
		})
	}
	return cmd
}

// runColumns are those of the table of runs: who asked what, what took the time, and the figures.
var runColumns = []terminal.Column{{Name: "ID"}, {Name: "STARTED"}, {Name: "CLIENT"},
	{Name: "TITLE"}, {Name: "MODEL"}, {Name: "TIME"}, {Name: "MOSTLY"},
	{Name: "ENDPOINT", Spare: true}, {Name: "PROMPT", Spare: true}, {Name: "COMPLETION", Spare: true},
	{Name: "DRAFTER", Spare: true}, {Name: "PER VERIFY", Spare: true}, {Name: "FIRST MS", Spare: true},
	{Name: "TOKENS/S", Spare: true}, {Name: "VERIFIED", Spare: true}, {Name: "FINISH", Spare: true}}

// modelOf returns the model of a run, - if there is none. The row of a run in flight has none yet.
func modelOf(state control.State, r control.Run) string {
	for _, a := range state.Active {
		if a.RunID == r.ID && r.EndedAt.IsZero() {
			return a.Model
		}
	}
	return cmp.Or(r.Model, "-")
}

// runRow returns the row of a run in a list.
func runRow(state control.State, list control.RunList, r control.Run) []any {
	took := control.Duration(r.TotalMS)
	if r.EndedAt.IsZero() {
		r.FinishReason, took = control.FinishRunning, "-"
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
	mostly := terminal.Marked{Cell: control.Mostly(r, list.Runs)}
	if r.FinishReason == control.FinishError || r.FinishReason == control.FinishInterrupted {
		mostly.As = terminal.Wrong
	}
	return []any{r.ID, r.StartedAt, control.ClientName(r.Client), cmp.Or(list.Titles[r.ID], "-"), terminal.ID(modelOf(state, r)),
		terminal.Figure(took), mostly, r.Endpoint, r.PromptTokens, r.CompletionTokens,
		cmp.Or(r.Drafter, "-"), terminal.Figure(perVerify), terminal.Figure(fmt.Sprintf("%.0f", r.FirstTokenMS)),
		terminal.Figure(r.Pace()), verified, r.FinishReason}
}
