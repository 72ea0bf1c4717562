package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
	"tandem/storage/disk"
)

// foundModels returns the verb that lists the models in the folders that are searched.
func foundModels(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "found", Short: "list those of Hugging Face, LM Studio, Ollama and the settings",
		Args: terminal.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, _ []string) error {
		found, err := control.Ask(ctx, c, control.FindModels)
		if err != nil {
			return err
		}
		if found.Cut {
			m.Say("there are more folders than were searched; add a model by its path")
		}
		err = terminal.List[control.FoundModel]{
			Columns: []terminal.Column{{Name: "ID"}, {Name: "ARCHITECTURE", Spare: true}, {Name: "WEIGHTS", Spare: true},
				{Name: "ON DISK"}, {Name: "CONTEXT"}, {Name: "PLACE"}, {Name: "PATH", Spare: true}},
			Row: foundRow,
			Empty: "no models in the folders of Hugging Face, LM Studio, Ollama and the settings; " +
				"add one by its path, or download one with `tandem pull`",
		}.Print(&m.Program, *asJSON, found.Models)
		if err != nil || *asJSON {
			return err
		}
		for _, model := range found.Models {
			if model.Why != "" {
				m.Say("%s at %s cannot be loaded: %s",
					terminal.Printable(model.ID), terminal.Printable(model.Path),
					terminal.Printable(model.Why))
			}
		}
		return nil
	})
	return cmd
}

// foundRow returns the row of a model in the table.
func foundRow(m control.FoundModel) []any {
	place := m.Place
	switch {
	case m.Why != "":
		return []any{terminal.Marked{Cell: terminal.ID(m.ID), As: terminal.Wrong}, "-", "-", terminal.Figure("-"),
			terminal.Figure("-"), place + ", unusable", terminal.ID(m.Path)}
	case m.Registered:
		place += ", registered"
	case m.Needs != nil && !m.Needs.Fits:
		place += ", too large"
	}
	return []any{terminal.ID(m.ID), m.Architecture, m.Packing(), terminal.Figure(control.ByteSize(m.Bytes)),
		m.ContextLength, place, terminal.ID(m.Path)}
}

// foundPath returns the path of the model that was found under an id, if nothing is at path.
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
