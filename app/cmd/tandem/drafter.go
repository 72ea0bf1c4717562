package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"tandem/app/control"
	"tandem/app/library"
)

// drafterOf prints what drafts for a model, after setting it if one is named.
func drafterOf(ctx context.Context, m *Main, args []string) error {
	f := m.flags("models drafter")
	asJSON := f.Bool("json", false, "one JSON object")
	rest, err := parse(f, args, 1, 2)
	if err != nil {
		return err
	}
	r := control.DrafterRequest{Model: rest[0]}
	if len(rest) > 1 {
		if rest[1] == "" {
			return mistake(f, "the drafter is empty; name a folder, a GGUF file, an id, auto or none")
		}
		r.Drafter = rest[1]
		if library.IsFolder(r.Drafter) { // of this process's working folder
			if r.Drafter, err = filepath.Abs(r.Drafter); err != nil {
				return err
			}
		}
	}
	return m.withServer(ctx, func(c *control.Client) error {
		d, err := c.Drafter(ctx, r)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(m.Stdout, d)
		}
		return writeDrafter(m.Stdout, d)
	})
}

// writeDrafter prints what drafts for a model.
func writeDrafter(w io.Writer, d control.Drafter) error {
	kind := ""
	if d.Kind != "" {
		kind = " (" + d.Kind + ")"
	}
	rows := [][]string{{"drafter", cmp.Or(d.Source, "none") + kind}, {"chosen", d.Choice}}
	if d.Reason != "" {
		rows = append(rows, []string{"not used", d.Reason})
	}
	switch {
	case d.Measuring:
		rows = append(rows, []string{"reading",
			"as is usual, until the model is idle for some seconds and its readings have been measured"})
	case d.Embedding != "" || d.Sliding != "":
		rows = append(rows, []string{"reading", reading(d.Embedding, d.Sliding)})
	}
	for _, t := range d.Trials {
		rows = append(rows, []string{"measured",
			fmt.Sprintf("%s: %.2f tokens per verify over %s",
				reading(t.Embedding, t.Sliding), t.TokensPerVerify, control.Plural(t.Blocks, "block"))})
	}
	return table(w, []string{"model", d.Model}, rows)
}

// reading says how the checkpoint of a drafter is read.
func reading(embedding, sliding string) string {
	text := cmp.Or(embedding, "default") + " embeddings"
	if sliding != "" {
		text += ", " + sliding + " sliding layers"
	}
	return text
}
