package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"tandem/app/control"
	"tandem/app/library"
)

// drafterOf prints what drafts for a model, after setting it if one is named, and what else could
// draft for it, with the latest figures of each.
func drafterOf(ctx context.Context, m *Main, args []string) error {
	f := m.flags("models drafter")
	asJSON := f.Bool("json", false, "one JSON object")
	measure := f.Bool("measure", false, "first measure each drafter that the chosen model could have, for some minutes")
	rest, err := parse(f, args, 1, 2)
	if err != nil {
		return err
	}
	r := control.DrafterRequest{Model: rest[0]}
	if len(rest) > 1 {
		if rest[1] == "" {
			return mistake(f, "the drafter is empty; name a folder, a GGUF file, an id, auto or none")
		}
		if *measure {
			return mistake(f, "--measure sets no drafter; leave out one of the two")
		}
		r.Drafter = rest[1]
	}
	return m.withServer(ctx, func(c *control.Client) error {
		if r.Model, err = idOf(ctx, c, r.Model); err != nil {
			return err
		}
		if r.Drafter, err = drafterPath(ctx, c, r.Drafter); err != nil {
			return err
		}
		d, err := c.Drafter(ctx, r)
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
			return writeJSON(m.Stdout, all)
		}
		if err := writeDrafter(m.Stdout, d); err != nil {
			return err
		}
		return all.write(m.Stdout)
	})
}

// drafterPath returns the name of a drafter as the server understands it. A path counts from this
// process's working folder. A registered model has its name before a file has it.
func drafterPath(ctx context.Context, c *control.Client, name string) (string, error) {
	if !library.IsFolder(name) {
		return name, nil
	}
	list, err := c.Models(ctx)
	if err != nil || slices.ContainsFunc(list, func(m control.Model) bool { return m.ID == name }) {
		return name, err
	}
	return filepath.Abs(name)
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
