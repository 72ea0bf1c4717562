package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

// showRun returns the verb that prints what one run took and how it was decoded.
func showRun(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "show [ID]", Short: "show one, the latest if none is named, and its rounds",
		Args: terminal.Args(0, 1, "")}
	f := cmd.Flags()
	asJSON := f.Bool("json", false, "one JSON object")
	cmd.RunE = func(_ *cobra.Command, rest []string) error {
		ctx := cmd.Context()
		var id int64
		var err error
		if len(rest) > 0 {
			if id, err = runID(cmd, rest[0]); err != nil {
				return err
			}
		}
		return m.withServer(ctx, func(c *control.Client) error {
			state, err := control.Ask(ctx, c, control.GetState) // before the row: see listRuns
			if err != nil {
				return err
			}
			if id == 0 {
				latest, err := control.Call(ctx, c, control.ListRuns, control.RunQuery{Limit: 1})
				if err != nil {
					return err
				}
				if len(latest.Runs) == 0 {
					return errors.New("there are no requests yet; `tandem run 'PROMPT'` makes one")
				}
				id = latest.Runs[0].ID
			}
			r, err := control.Call(ctx, c, control.GetRun, id)
			if err != nil {
				return err
			}
			if *asJSON {
				return m.PrintJSON(r)
			}
			r.Model = modelOf(state, r)
			return m.writeReport(r)
		})
	}
	return cmd
}

// writeReport prints the report of a run.
func (m *Main) writeReport(r control.Run) error {
	report, err := control.NewReport(r)
	if err != nil {
		return err
	}
	lines := [][]any{
		{"run", fmt.Sprint(r.ID)},
		{"started", fmt.Sprintf("%s by %s", m.Time(r.StartedAt), control.ClientName(r.Client))},
		{"endpoint", r.Endpoint},
		{"model", r.Model},
	}
	for _, f := range report.Facts {
		lines = append(lines, []any{f.Name, f.Text})
	}
	switch {
	case r.EndedAt.IsZero():
		lines = append(lines, []any{"finish", "running; its figures come with its end"})
	case r.FinishReason == control.FinishInterrupted:
		lines = append(lines, []any{"resume",
			fmt.Sprintf("`tandem runs resume %d` completes its answer, if it had begun", r.ID)})
	case r.PeakBytes > 0:
		lines = append(lines, []any{"memory", control.GiB.Of(r.PeakBytes) + " at the peak"})
	}
	if err := m.Facts(lines); err != nil {
		return err
	}
	how := report.Speculation
	if how == nil && r.Verifies > 0 {
		return m.Print("\nSingle rounds are kept for the latest runs only.")
	}
	if how == nil {
		return nil
	}
	if err := m.writeDrafters(how.Drafters); err != nil || len(how.DraftedAt) == 0 {
		return err
	}
	var positions [][]any
	for i, n := range how.DraftedAt {
		accepted := 0
		if i < len(how.AcceptedAt) {
			accepted = how.AcceptedAt[i]
		}
		positions = append(positions, []any{i + 1, n, accepted, terminal.Figure(control.Share(accepted, n))})
	}
	if err := errors.Join(m.Print(""), m.Table([]terminal.Column{{Name: "DRAFT"}, {Name: "TRIED"}, {Name: "ACCEPTED"}, {Name: "SHARE"}}, positions)); err != nil {
		return err
	}
	return m.writeChart(how)
}

// writeDrafters prints what each drafter did, and why not more.
func (m *Main) writeDrafters(drafters []control.DrafterRounds) error {
	if len(drafters) == 0 {
		return nil
	}
	var lines [][]any
	for i, d := range drafters {
		if !d.Asked() {
			continue
		}
		rounds := fmt.Sprint(d.Rounds)
		if d.Trials > 0 {
			rounds += fmt.Sprintf(", %d to try it", d.Trials)
		}
		lines = append(lines, []any{i + 1, d.Name, rounds, terminal.Figure(control.Share(d.Accepted, d.Drafted)),
			cmp.Or(d.Why(), "-")})
	}
	return errors.Join(m.Print(""), m.Table([]terminal.Column{{Name: "NO"}, {Name: "DRAFTER"}, {Name: "ROUNDS"}, {Name: "SHARE"},
		{Name: "WHY NOT MORE", Wraps: true}}, lines))
}

// chartWidth is the most columns that rounds are drawn in.
const chartWidth = 60

// writeChart draws how many tokens were drafted, and how many were accepted, over the rounds. Each
// column is the mean of equally many rounds.
func (m *Main) writeChart(how *control.Speculation) error {
	rounds := how.Unpack()
	n := len(rounds.Drafted)
	if n == 0 {
		return nil
	}
	each := (n + chartWidth - 1) / chartWidth
	most := slices.Max(rounds.Drafted) // may be 0: another choice drafted
	scale := fmt.Sprintf("%s, one a column", control.Plural(n, "round"))
	if each > 1 {
		scale = fmt.Sprintf("%s, %d a column", control.Plural(n, "round"), each)
	}
	if how.Cut > 0 {
		scale += fmt.Sprintf("; the %d after them were not kept", how.Cut)
	}
	rows := [][]any{{"drafted", terminal.Bars(rounds.Drafted, each, most)},
		{"accepted", terminal.Bars(rounds.Accepted, each, most)}}
	if len(how.Drafters) > 0 {
		rows = append(rows, []any{"drafter", terminal.Marks(rounds.Drafters, each)})
	}
	return errors.Join(m.Print("\n%s; · means 0, █ means %d", scale, most), m.Facts(rows))
}
