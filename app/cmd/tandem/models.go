package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/library"
	"tandem/app/terminal"
	"tandem/storage/disk"
)

// aModel is what verbs of one model cannot do without.
const aModel = "a model's id, which `tandem list` shows"

func listModels(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list the models: * marks the current one", Args: terminal.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, _ []string) error {
		state, err := control.Ask(ctx, c, control.GetState)
		if err != nil {
			return err
		}
		list, err := control.Ask(ctx, c, control.ListModels)
		if err != nil {
			return err
		}
		needs := map[string]control.ModelNeeds{}
		if !*asJSON {
			memory, err := control.Ask(ctx, c, control.GetMemory)
			if err != nil {
				return err
			}
			for _, n := range memory.Models {
				needs[n.ID] = n
			}
		}
		gone := map[string]bool{} // the models whose files are not there
		for _, model := range list.Models {
			_, err := disk.Stat(model.Path)
			gone[model.ID] = model.Path != "" && errors.Is(err, fs.ErrNotExist)
		}
		err = terminal.List[control.Model]{
			Columns: []terminal.Column{{Name: "ID"}, {Name: "ARCHITECTURE", Spare: true}, {Name: "PARAMETERS", Spare: true},
				{Name: "WEIGHTS", Spare: true}, {Name: "ON DISK"}, {Name: "CONTEXT"}, {Name: "IN MEMORY"},
				{Name: "SOURCE", Spare: true}, {Name: "LAST USED"}},
			Row: func(model control.Model) []any {
				if gone[model.ID] {
					model.Source += ", gone"
				} else if needs[model.ID].Why != "" {
					model.Source += ", unusable"
				}
				return modelRow(state, model, gone[model.ID] || needs[model.ID].Why != "")
			},
		}.Print(&m.Program, *asJSON, list.Models)
		if err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(needs)) {
			n := needs[id]
			switch {
			case gone[id]:
				m.Say("%s", n.Why)
			case n.Why != "":
				m.Say("%s cannot be loaded: %s", id, n.Why)
			case n.NoChat != "":
				m.warnNoChat(n)
			}
			if n.Inexact != "" {
				m.Say("%s is not held exactly: %s", id, n.Inexact)
			}
		}
		return nil
	})
	return cmd
}

// modelRow returns the row of a model in the table.
func modelRow(state control.State, m control.Model, unusable bool) []any {
	id := terminal.Marked{Cell: terminal.ID(m.ID)}
	if m.ID == state.Choice {
		id = terminal.Marked{Cell: terminal.ID("*" + m.ID), As: terminal.Chosen}
	}
	if unusable {
		id.As = terminal.Wrong
	}
	architecture := m.Architecture
	if m.Kind != "" {
		architecture += ", " + m.Kind
	}
	context := fmt.Sprint(m.ContextLength)
	if control.ShortContext(state.ContextLimit, m.ContextLength) != "" {
		context += fmt.Sprintf(" (not %d)", state.ContextLimit)
	}
	memory := ""
	if l := state.Resident(m.ID); l != nil {
		memory = control.ByteSize(l.Bytes) + l.KVNote()
	}
	return []any{id, architecture, terminal.Figure(control.Count(m.Parameters)), m.Packing(),
		terminal.Figure(control.ByteSize(m.Bytes)), terminal.Figure(context), terminal.Figure(memory), m.Source,
		m.LastUsedAt}
}

func addModel(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "add FOLDER|FILE.gguf|ID", Short: "register a folder, a GGUF file, or what found lists by that ID",
		Args: terminal.Args(1, 1, "the model's folder or GGUF file, or an ID that `tandem models found` lists")}
	id := cmd.Flags().String("id", "", "register it as `ID` (default: its name at its publisher's, else the folder's or the GGUF file's)")
	cmd.RunE = func(cmd *cobra.Command, rest []string) error {
		ctx := cmd.Context()
		if rest[0] == "" {
			return terminal.Mistake(cmd, "the path is empty; give it a model's folder or GGUF file")
		}
		dir, err := filepath.Abs(rest[0])
		if err != nil {
			return err
		}
		return m.withServer(ctx, func(c *control.Client) error {
			path, err := foundPath(ctx, c, rest[0], dir)
			if err != nil {
				return err
			}
			model, err := control.Call(ctx, c, control.AddModel, control.AddRequest{Path: path, ID: *id})
			if err != nil {
				return err
			}
			if err := m.Print("%s", model.ID); err != nil {
				return err
			}
			name := library.TrimGGUF(filepath.Base(model.Path))
			if *id == "" && model.ID != rest[0] && model.ID != name {
				m.Say("the id of %s is %s", terminal.Printable(model.Path),
					model.ID)
			}
			needs, err := control.Ask(ctx, c, control.GetMemory)
			if err != nil {
				return nil // the model is added; another one's files gave no answer
			}
			for _, n := range needs.Models {
				if n.ID == model.ID && n.NoChat != "" {
					m.warnNoChat(n)
				}
			}
			return nil
		})
	}
	return cmd
}

// warnNoChat says that a model cannot chat, and how it can be used.
func (m *Main) warnNoChat(n control.ModelNeeds) {
	m.Say("%s cannot chat: %s; mend it or take another file, or use "+
		"`tandem run --raw`", n.ID, n.NoChat)
}

// unloadModel frees the memory of a model, or of all where min lets the model be left out.
func unloadModel(m *Main, use, short string, min int) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, SuggestFor: []string{"unload", "stop", "kill"}, Args: terminal.Args(min, 1, aModel), ValidArgsFunction: m.completeModel,
		RunE: m.asking(func(ctx context.Context, c *control.Client, args []string) error {
			before, err := control.Ask(ctx, c, control.GetState)
			if err != nil {
				return err
			}
			id := ""
			if len(args) > 0 {
				if id, err = idOf(ctx, c, args[0]); err != nil {
					return err
				}
			}
			if _, err := control.Call(ctx, c, control.UnloadModel, control.UnloadRequest{Model: id}); err != nil {
				return err
			}
			freed := 0
			for _, l := range before.InMemory {
				if id == "" || id == l.ID {
					freed++
					m.Say("unloaded %s, which frees %s of memory", l.ID, control.ByteSize(l.Bytes))
				}
			}
			switch {
			case freed > 0:
			case id == "":
				m.Say("no model is in memory")
			default:
				m.Say("%s is not in memory; `tandem ps` lists what is", id)
			}
			return nil
		})}
}

// removeModel says what goes with a model, asks, and removes it.
func removeModel(m *Main, use string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: "remove a model, and its files if Tandem downloaded them",
		SuggestFor: []string{"rm", "remove", "delete", "uninstall"},
		Args:       terminal.Args(1, 1, aModel), ValidArgsFunction: m.completeModel}
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, args []string) error {
		before, err := control.Ask(ctx, c, control.GetState)
		if err != nil {
			return err
		}
		id, err := idOf(ctx, c, args[0])
		if err != nil {
			return err
		}
		would, err := control.Call(ctx, c, control.WouldRemoveModel, id)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("remove %s from the list, while its files stay", id)
		if would.Deletes {
			what = fmt.Sprintf("delete %s, which frees %s", id, control.ByteSize(would.Bytes))
		}
		if err := m.Confirm(cmd, *yes, what); err != nil {
			return err
		}
		gone, err := control.Call(ctx, c, control.RemoveModel, id)
		if err != nil {
			return err
		}
		if gone.Deletes {
			m.Say("%s is deleted, which frees %s", id,
				control.ByteSize(gone.Bytes))
		}
		if before.Resident(id) != nil {
			m.Say("%s was in memory and has been unloaded", id)
		}
		if before.Choice == id {
			next := "another"
			if after, err := control.Ask(ctx, c, control.GetState); err == nil { // the model is removed in any case
				next = after.Choice
			}
			m.Say("%s was the current model; requests for %s now get %s",
				id, control.Alias, next)
		}
		return nil
	})
	return cmd
}
