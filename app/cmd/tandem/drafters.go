package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"tandem/app/control"
)

// measureDrafters measures each drafter of a model, which must be the chosen one.
func (m *Main) measureDrafters(ctx context.Context, c *control.Client, model string) error {
	list, err := c.Benches(ctx)
	if err != nil {
		return err
	}
	if p := list.Plan; p == nil || p.Model != model {
		return fmt.Errorf("only the chosen model can be measured; choose %s in the window, or serve it with `tandem serve --model`",
			model)
	}
	took := time.Duration(list.Plan.Seconds * float64(time.Second)).Round(time.Minute)
	fmt.Fprintf(m.Stderr, "tandem: measuring takes about %d minutes, and waits while a request is answered\n",
		max(1, int(took.Minutes())))
	bar := m.bar()
	defer bar.end()
	_, err = c.Bench(ctx, func(p control.BenchProgress) {
		what := p.Part
		if p.Drafter != "" {
			what = fmt.Sprintf("%s, %d of %d", p.Drafter, p.Nth, p.Of)
		}
		if p.Waiting {
			what += ", waiting for requests to end"
		}
		bar.draw(fmt.Sprintf("%s: %d of at most %d", what, p.Done, p.Total))
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
	set, err := c.ModelSettings(ctx, d.Model)
	if err != nil {
		return out, err
	}
	list, err := c.Benches(ctx)
	if err != nil {
		return out, err
	}
	alone := control.DrafterChoice{Name: control.Lookups, Choice: control.DrafterNone, Own: true}
	for _, choice := range append(set.Drafters, alone) {
		if !choice.Own {
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

// write prints a line for each drafter that could be chosen.
func (d draftersState) write(w io.Writer) error {
	var rows [][]string
	for _, f := range d.Drafters {
		row := []string{f.Name, f.Choice, "-", "-", "not measured"}
		switch {
		case f.Why != "":
			row[4] = "left out: " + f.Why
		case f.Decode != nil && f.Decode.Pairs == 0:
			row[4] = "no figures: the answers repeat themselves or are too short"
		case f.Decode != nil:
			row[2] = fmt.Sprintf("%.2f (%.2f to %.2f)", f.Decode.Times.Median, f.Decode.Times.Low,
				f.Decode.Times.High)
			row[3] = fmt.Sprintf("%.2f", f.Decode.TokensPerVerify)
			row[4] = clock(*f.Measured)
		}
		rows = append(rows, row)
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return table(w, []string{"COULD GUESS AHEAD", "SET BY", "TIMES AS FAST", "TOKENS PER VERIFY",
		"MEASURED"}, rows)
}
