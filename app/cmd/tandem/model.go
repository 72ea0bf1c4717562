package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

// useModel returns the verb that makes a model the current one. Where nothing serves, it tries the model
// here, and the next server has it.
func useModel(m *Main) *cobra.Command {
	return &cobra.Command{Use: "use MODEL", Short: "choose the current model; MODEL may be a folder or a GGUF file",
		SuggestFor: []string{"load", "switch", "select"},
		Args:       terminal.Args(1, 1, aModel), ValidArgsFunction: m.completeModelOrFile,
		RunE: m.asking(func(ctx context.Context, c *control.Client, args []string) error {
			return m.withModel(ctx, c, "", args[0], func(id string) error {
				id, err := idOf(ctx, c, id)
				if err != nil {
					return err
				}
				stop := m.watch(ctx, stateOf(c))
				defer stop()
				state, err := control.Call(ctx, c, control.LoadModel, control.LoadRequest{Model: id})
				if err != nil {
					return err
				}
				stop()
				next := ""
				if state.Address == "" {
					next = "; `tandem serve` serves it"
				}
				m.Say("%s is the current model%s", state.Choice, next)
				return nil
			})
		})}
}

// modelReport is all that is known of a model.
type modelReport struct {
	control.Model
	Memory   control.ModelNeeds         `json:"memory"`
	Settings control.ModelSettingsState `json:"settings"`
	Loaded   *control.Loaded            `json:"loaded"` // nil while it is not in memory
}

func showModel(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "show MODEL", Short: "show what is known of a model",
		Args:              terminal.Args(1, 1, aModel),
		ValidArgsFunction: m.completeModel}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, args []string) error {
		r, err := reportModel(ctx, c, args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return m.PrintJSON(r)
		}
		return m.Facts(r.rows())
	})
	return cmd
}

// reportModel asks for what is known of the model that a person names.
func reportModel(ctx context.Context, c *control.Client, name string) (r modelReport, err error) {
	id, err := idOf(ctx, c, name)
	if err != nil {
		return r, err
	}
	state, err := control.Ask(ctx, c, control.GetState)
	if err != nil {
		return r, err
	}
	if r.Settings, err = control.Call(ctx, c, control.GetModelSettings, id); err != nil {
		return r, err
	}
	list, err := control.Ask(ctx, c, control.ListModels)
	if err != nil {
		return r, err
	}
	memory, err := control.Ask(ctx, c, control.GetMemory)
	if err != nil {
		return r, err
	}
	for _, model := range list.Models {
		if model.ID == id {
			r.Model = model
		}
	}
	if i := slices.IndexFunc(memory.Models, func(n control.ModelNeeds) bool { return n.ID == id }); i >= 0 {
		r.Memory = memory.Models[i]
	}
	r.Loaded = state.Resident(id)
	return r, nil
}

// rows returns the lines of the report.
func (r modelReport) rows() [][]any {
	needs := fmt.Sprintf("%s with %s tokens", control.ByteSize(r.Memory.Needs.Bytes),
		control.Grouped(r.Memory.Needs.Context))
	if !r.Memory.Needs.Fits {
		needs += ", more than there is room for"
	}
	if r.Memory.Why != "" {
		needs = "cannot be loaded: " + r.Memory.Why
	}
	now := "no"
	if r.Loaded != nil {
		now = control.ByteSize(r.Loaded.Bytes) + r.Loaded.KVNote()
	}
	rows := [][]any{
		{"model", r.ID},
		{"architecture", r.Architecture},
		{"parameters", control.Count(r.Parameters)},
		{"weights", r.Packing()},
		{"on disk", control.ByteSize(r.Bytes)},
		{"path", cmp.Or(r.Path, "part of the program")},
		{"source", r.Source},
		{"context", control.Grouped(r.ContextLength) + " tokens"},
		{"memory", needs},
		{"in memory", now},
		{"draft model", cmp.Or(r.Settings.Drafter, "none")},
		{"last used", r.LastUsedAt},
	}
	for _, x := range [][]any{{"kind", r.Kind}, {"cannot chat", r.Memory.NoChat}, {"not exact", r.Memory.Inexact}} {
		if x[1] != "" {
			rows = append(rows, x)
		}
	}
	return rows
}
