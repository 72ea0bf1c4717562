package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tandem/app/control"
)

// showRun tells what one run cost and how it was decoded.
func showRun(ctx context.Context, m *Main, args []string) error {
	f := m.flags("runs show")
	asJSON := f.Bool("json", false, "one JSON object")
	rest, err := parse(f, args, 0, 1)
	if err != nil {
		return err
	}
	var id int64
	if len(rest) > 0 {
		if id, err = runID(f, rest[0]); err != nil {
			return err
		}
	}
	return m.withServer(ctx, func(c *control.Client) error {
		state, err := c.State(ctx) // before the row: see listRuns
		if err != nil {
			return err
		}
		if id == 0 {
			latest, err := c.Runs(ctx, control.RunQuery{Limit: 1})
			if err != nil {
				return err
			}
			if len(latest) == 0 {
				return errors.New("there are no runs yet")
			}
			id = latest[0].ID
		}
		r, err := c.Run(ctx, id)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(m.Stdout, r)
		}
		if i := slices.IndexFunc(state.Active, func(a control.Active) bool { return a.RunID == r.ID }); i >= 0 && r.EndedAt.IsZero() {
			r.Model = state.Active[i].Model // its row has none yet
		}
		return writeReport(m.Stdout, r)
	})
}

// writeReport writes a run for a person.
func writeReport(w io.Writer, r control.Run) error {
	var how control.Speculation
	if r.Speculation != nil {
		if err := json.Unmarshal(r.Speculation, &how); err != nil {
			return fmt.Errorf("the rounds of run %d: %w", r.ID, err)
		}
	}
	var lines [][]string
	line := func(name, format string, args ...any) {
		lines = append(lines, []string{name, fmt.Sprintf(format, args...)})
	}
	line("started", "%s by %s", clock(r.StartedAt), cmp.Or(r.Client, "a client without a name"))
	line("endpoint", "%s", r.Endpoint)
	line("model", "%s", cmp.Or(r.Model, "-"))
	header := []string{"run", fmt.Sprint(r.ID)}
	if r.EndedAt.IsZero() {
		line("finish", "running; its figures come with its end")
		return table(w, header, lines)
	}
	finish := r.FinishReason
	if r.Error != "" {
		finish += ": " + r.Error
	}
	line("finish", "%s", finish)
	if r.FinishReason == control.FinishInterrupted {
		line("resume", "`tandem runs resume %d` completes its answer, if it had begun", r.ID)
		return table(w, header, lines)
	}
	line("tokens", "prompt %d, completion %d", r.PromptTokens, r.CompletionTokens)
	line("prompt", "matched %d, restored %d, computed %d", r.MatchedTokens, r.CachedTokens, r.PromptTokens-r.CachedTokens)
	if r.MissReason != "" {
		line("cache", "%s", r.MissReason)
	}
	if r.Parted != nil {
		var p control.Parted
		if err := json.Unmarshal(r.Parted, &p); err != nil {
			return fmt.Errorf("where run %d parts: %w", r.ID, err)
		}
		where := "a text that was kept"
		if p.Answer {
			where = "an earlier answer, which the client or the chat template wrote otherwise than it was generated, unless it was edited"
		}
		line("parts", "at token %d from %s: there %q follows, here %q", p.At, where, p.Kept, p.Given)
	}
	if r.Resumes > 0 {
		line("resumes", "run %d", r.Resumes)
	}
	if r.Repeats > 0 {
		line("loops", "from token %d of the completion on; what drafts gain there says little of other texts", r.Repeats)
	}
	line("seed", "%d", r.Seed)
	if how.Asked != nil {
		line("asked for", "%s", how.Asked)
	}
	line("drafter", "%s", cmp.Or(r.Drafter, "none"))
	if r.NoDrafter != "" {
		line("reason", "%s", r.NoDrafter)
	}
	if r.Drafted > 0 {
		line("drafts", "%d, of which %d stood (%s)", r.Drafted, r.Accepted, share(r.Accepted, r.Drafted))
	}
	if n := r.PredictionAccepted + r.PredictionRejected; n > 0 {
		line("prediction", "%s tried, of which %d stood (%s)", plural(n, "token"), r.PredictionAccepted, share(r.PredictionAccepted, n))
	}
	rounds := plural(r.Rounds, "forward") + " after the prompt's"
	if r.Verifies > 0 {
		rounds += fmt.Sprintf(", %d with drafts: %.2f tokens per verify", r.Verifies, r.TokensPerVerify())
	}
	line("rounds", "%s; %s", rounds, plural(r.Syncs, "sync"))
	times := []struct {
		name string
		ms   float64
	}{{"load", r.LoadMS}, {"queue", r.QueueMS}, {"restore", r.RestoreMS}, {"prefill", r.PrefillMS}, {"first token", r.FirstTokenMS},
		{"draft", r.DraftMS}, {"verify", r.VerifyMS}, {"total", r.TotalMS}}
	var took []string
	for _, t := range times {
		if t.ms > 0 {
			took = append(took, fmt.Sprintf("%s %.1f", t.name, t.ms))
		}
	}
	line("ms", "%s", strings.Join(took, ", "))
	if b := how.BlockMS; b != nil {
		line("block ms", "%.1f on average, %.1f in the first eight, %.1f at most", b.Mean, b.First8, b.Max)
	}
	line("tokens/s", "%s after the first", pace(r))
	line("memory", "%s at the peak", byteSize(r.PeakBytes))
	if err := table(w, header, lines); err != nil {
		return err
	}
	if r.Speculation == nil && r.Verifies > 0 {
		_, err := fmt.Fprintln(w, "\nRound by round only the latest runs are kept.")
		return err
	}
	if len(how.DraftedAt) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	var positions [][]string
	for i, n := range how.DraftedAt {
		stood := 0
		if i < len(how.AcceptedAt) {
			stood = how.AcceptedAt[i]
		}
		positions = append(positions, []string{fmt.Sprint(i + 1), fmt.Sprint(n), fmt.Sprint(stood), share(stood, n)})
	}
	if err := table(w, []string{"DRAFT", "TRIED", "STOOD", "SHARE"}, positions); err != nil {
		return err
	}
	return writeChart(w, how)
}

// share is a part in percent.
func share(part, whole int) string {
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(max(whole, 1)))
}

// chartWidth is how many columns rounds are drawn in.
const chartWidth = 60

// writeChart draws how many tokens were drafted, and how many stood, over the
// rounds: from the first to the last, each column the mean of as many.
func writeChart(w io.Writer, how control.Speculation) error {
	rounds := how.Unpack()
	n := len(rounds.Drafted)
	if n == 0 {
		return nil
	}
	each := (n + chartWidth - 1) / chartWidth
	most := slices.Max(rounds.Drafted) // may be 0: another choice drafted
	scale := fmt.Sprintf("%s, one a column", plural(n, "round"))
	if each > 1 {
		scale = fmt.Sprintf("%s, %d a column", plural(n, "round"), each)
	}
	if how.Cut > 0 {
		scale += fmt.Sprintf("; the %d behind them were not kept", how.Cut)
	}
	_, err := fmt.Fprintf(w, "\n%s; · is none, █ is %d\ndrafted  %s\nstood    %s\n", scale, most, bars(rounds.Drafted, each, most), bars(rounds.Accepted, each, most))
	return err
}

// bars draws the mean of each so many values as one character.
func bars(values []int, each, most int) string {
	const levels = "▁▂▃▄▅▆▇█"
	var b strings.Builder
	for part := range slices.Chunk(values, each) {
		sum := 0
		for _, v := range part {
			sum += v
		}
		if sum == 0 {
			b.WriteRune('·')
			continue
		}
		// Rounded up, so that a little is not drawn as nothing.
		level := (8*sum + most*len(part) - 1) / (most * len(part))
		b.WriteRune([]rune(levels)[min(max(level, 1), 8)-1])
	}
	return b.String()
}
