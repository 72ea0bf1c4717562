package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

// drafterOf returns the verb that prints what drafts for a model. If the arguments name a drafter, it sets that one
// first. It also prints what else could draft for the model, with the latest figures of each.
func drafterOf(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "drafter ID [FOLDER|FILE.gguf|ID|auto|none]", Short: "show or set a model's draft model",
		Args: terminal.Args(1, 2, "the model's id, and a folder to set its drafter"), ValidArgsFunction: m.completeModel}
	f := cmd.Flags()
	asJSON := f.Bool("json", false, "one JSON object")
	measure := f.Bool("measure", false, "first measure each drafter that the current model could have, for some minutes")
	cmd.RunE = func(_ *cobra.Command, rest []string) error {
		ctx := cmd.Context()
		r := control.DrafterRequest{Model: rest[0]}
		if len(rest) > 1 {
			if rest[1] == "" {
				return terminal.Mistake(cmd, "the drafter is empty; name a folder, a GGUF file, an id, auto or none")
			}
			if *measure {
				return terminal.Mistake(cmd, "--measure sets no drafter; leave out one of the two")
			}
			r.Drafter = rest[1]
		}
		return m.withServer(ctx, func(c *control.Client) (err error) {
			if r.Model, err = idOf(ctx, c, r.Model); err != nil {
				return err
			}
			path, _, err := pathOf(ctx, c, r.Drafter)
			if err != nil {
				return err
			}
			r.Drafter = cmp.Or(path, r.Drafter)
			d, err := control.Call(ctx, c, control.SetDrafter, r)
			if err != nil {
				return err
			}
			if *measure {
				if err := m.measureDrafters(ctx, c, d.Model); err != nil {
					return err
				}
			}
			all, err := draftersOf(ctx, c, d)
			if err != nil {
				return err
			}
			if *asJSON {
				return m.PrintJSON(all)
			}
			if err := m.writeDrafter(d); err != nil {
				return err
			}
			return m.writeChoices(all.Drafters)
		})
	}
	return cmd
}

// writeDrafter prints what drafts for a model.
func (m *Main) writeDrafter(d control.Drafter) error {
	kind := ""
	if d.Kind != "" {
		kind = " (" + d.Kind + ")"
	}
	rows := [][]any{{"model", d.Model}, {"drafter", cmp.Or(d.Source, "none") + kind}, {"chosen", d.Choice}}
	if d.Reason != "" {
		rows = append(rows, []any{"not used", d.Reason})
	}
	switch {
	case d.Measuring:
		rows = append(rows, []any{"reading",
			"as is usual, until the model is idle for some seconds and its readings have been measured"})
	case d.Embedding != "" || d.Sliding != "":
		rows = append(rows, []any{"reading", reading(d.Embedding, d.Sliding)})
	}
	for _, t := range d.Trials {
		rows = append(rows, []any{"measured",
			fmt.Sprintf("%s: %.2f tokens per verify over %s",
				reading(t.Embedding, t.Sliding), t.TokensPerVerify, control.Plural(t.Blocks, "block"))})
	}
	return m.Facts(rows)
}

// reading says how the checkpoint of a drafter is read.
func reading(embedding, sliding string) string {
	text := cmp.Or(embedding, "default") + " embeddings"
	if sliding != "" {
		text += ", " + sliding + " sliding layers"
	}
	return text
}

// measureDrafters measures each drafter of a model, which must be the chosen one.
func (m *Main) measureDrafters(ctx context.Context, c *control.Client, model string) error {
	list, err := control.Ask(ctx, c, control.ListBenches)
	if err != nil {
		return err
	}
	if p := list.Plan; p == nil || p.Model != model {
		return fmt.Errorf("only the current model can be measured; `tandem use %s` makes it that", model)
	}
	took := time.Duration(list.Plan.Seconds * float64(time.Second)).Round(time.Minute)
	m.Say("measuring takes about %d minutes, and waits while a request is answered",
		max(1, int(took.Minutes())))
	bar := m.NewBar()
	defer bar.End()
	_, err = c.Bench(ctx, func(p control.BenchProgress) {
		what := p.Part
		if p.Drafter != "" {
			what = fmt.Sprintf("%s, %d of %d", p.Drafter, p.Nth, p.Of)
		}
		if p.Waiting {
			what += ", waiting for requests to end"
		}
		bar.Draw(what, fmt.Sprintf(": %d of at most %d", p.Done, p.Total))
	})
	return err
}

// draftersState is what drafts for a model, and what could.
type draftersState struct {
	control.Drafter
	Drafters []drafterFigures `json:"drafters"`
}

// drafterFigures is a drafter that a model could have, with its figures of the latest measurement of
// the model that has it.
type drafterFigures struct {
	control.DrafterChoice
	Measured *time.Time           `json:"measured_at,omitempty"`
	Why      string               `json:"why,omitempty"`    // why it was left out then
	Decode   *control.BenchDecode `json:"decode,omitempty"` // nil if it was not measured
}

// draftersOf returns what else could draft for a model: its own drafters, and the text alone.
func draftersOf(ctx context.Context, c *control.Client, d control.Drafter) (draftersState, error) {
	out := draftersState{Drafter: d}
	set, err := control.Call(ctx, c, control.GetModelSettings, d.Model)
	if err != nil {
		return out, err
	}
	list, err := control.Ask(ctx, c, control.ListBenches)
	if err != nil {
		return out, err
	}
	alone := control.DrafterChoice{Name: control.Lookups, Choice: control.DrafterNone, Suits: true}
	for _, choice := range append(set.Drafters, alone) {
		if !choice.Suits {
			continue
		}
		f := drafterFigures{DrafterChoice: choice}
		f.find(d.Model, list.Benches)
		out.Drafters = append(out.Drafters, f)
	}
	return out, nil
}

// find takes the figures of the newest bench of a model that has the drafter.
func (f *drafterFigures) find(model string, benches []control.Bench) {
	for _, b := range benches {
		if b.Model != model {
			continue
		}
		i := slices.IndexFunc(b.Result.Drafters,
			func(d control.BenchDrafter) bool { return d.Source == f.Source })
		if i < 0 {
			continue
		}
		d := b.Result.Drafters[i]
		f.Measured, f.Why = &b.At, d.Why
		if d.Why == "" {
			f.Decode = &d.Decode
		}
		return
	}
}

// writeChoices prints a line for each drafter that could be chosen.
func (m *Main) writeChoices(drafters []drafterFigures) error {
	var rows [][]any
	for _, f := range drafters {
		row := []any{f.Name, f.Choice, "-", "-", "not measured"}
		switch {
		case f.Why != "":
			row[4] = "left out: " + f.Why
		case f.Decode != nil && f.Decode.Pairs == 0:
			row[4] = "no figures: the answers repeat themselves or are too short"
		case f.Decode != nil:
			row[2] = fmt.Sprintf("%.2f (%.2f to %.2f)", f.Decode.Times.Median, f.Decode.Times.Low,
				f.Decode.Times.High)
			row[3] = fmt.Sprintf("%.2f", f.Decode.TokensPerVerify)
			row[4] = *f.Measured
		}
		rows = append(rows, row)
	}
	if err := m.Print(""); err != nil {
		return err
	}
	return m.Table([]terminal.Column{{Name: "COULD DRAFT"}, {Name: "SET BY"}, {Name: "TIMES AS FAST"},
		{Name: "TOKENS PER VERIFY", Spare: true}, {Name: "MEASURED", Wraps: true}}, rows)
}
