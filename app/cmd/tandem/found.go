package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/terminal"
	"tandem/storage/disk"
)

// foundModels lists the models that lie in the folders that are searched.
func foundModels(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("models found")
	asJSON := f.Bool("json", false, "one JSON object a line")
	if _, err := m.Parse(f, args, 0, 0); err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		found, err := control.Ask(ctx, c, control.FindModels)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, model := range found.Models {
			if *asJSON {
				if err := terminal.WriteJSON(m.Stdout, model); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, foundRow(model))
		}
		if found.Cut {
			fmt.Fprintln(m.Stderr, "tandem: there are more folders than were searched; "+
				"add a model by its path")
		}
		if *asJSON {
			return nil
		}
		if err := terminal.Table(m.Stdout, []string{"ID", "ARCHITECTURE", "WEIGHTS", "ON DISK", "CONTEXT",
			"PLACE", "PATH"}, rows); err != nil {
			return err
		}
		if len(found.Models) == 0 {
			fmt.Fprintln(m.Stderr, "tandem: no models lie in the folders of Hugging Face, LM Studio, "+
				"Ollama and the settings; add one by its path, or download one with `tandem pull`")
		}
		for _, model := range found.Models {
			if model.Why != "" {
				fmt.Fprintf(m.Stderr, "tandem: %s at %s cannot be loaded: %s\n",
					terminal.Printable(model.ID), terminal.Printable(model.Path),
					terminal.Printable(model.Why))
			}
		}
		return nil
	})
}

// foundRow returns the row of a model in the table.
func foundRow(m control.FoundModel) []string {
	place := m.Place
	switch {
	case m.Why != "":
		return []string{m.ID, "-", "-", "-", "-", place + ", unusable", m.Path}
	case m.Registered:
		place += ", registered"
	case m.Needs != nil && !m.Needs.Fits:
		place += ", too large"
	}
	return []string{m.ID, m.Architecture, m.Packing(), control.ByteSize(m.Bytes),
		fmt.Sprint(m.ContextLength), place, m.Path}
}

// foundPath returns the path of the model that was found under an id, where nothing lies at path.
// Else it returns path. It refuses the id of several models, and of one that cannot be loaded.
func foundPath(ctx context.Context, c *control.Client, id, path string) (string, error) {
	if _, err := disk.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	found, err := control.Ask(ctx, c, control.FindModels)
	if err != nil {
		return "", err
	}
	var paths []string
	var why string
	for _, m := range found.Models {
		if m.ID == id || slices.Contains(m.Names, id) {
			paths, why = append(paths, m.Path), m.Why
		}
	}
	switch {
	case len(paths) == 0:
		return path, nil
	case len(paths) == 1 && why != "":
		return "", fmt.Errorf("%s cannot be loaded: %s", terminal.Printable(id), terminal.Printable(why))
	case len(paths) == 1:
		return paths[0], nil
	}
	return "", fmt.Errorf("%d models were found as %s, so add one by its path: %s", len(paths),
		terminal.Printable(id), terminal.Printable(strings.Join(paths, ", ")))
}
