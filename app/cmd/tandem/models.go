package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"tandem/app/control"
	"tandem/app/library"
	"tandem/app/terminal"
	"tandem/storage/disk"
)

// modelVerbs are the words that may follow "models".
func modelVerbs() []terminal.Verb {
	return []terminal.Verb{
		{Name: "list", Doc: "list them: * marks the chosen one; the list names models in memory, and those that cannot be loaded"},
		{Name: "found", Doc: "list what lies in the folders of Hugging Face, LM Studio, Ollama and the settings"},
		{Name: "add", Args: "FOLDER|FILE.gguf|ID", Doc: "register a model's folder, a GGUF file, or what found lists by that ID",
			Needs: "the model's folder or GGUF file: tandem models add FOLDER|FILE.gguf|ID; `tandem models found` lists ids"},
		{Name: "remove", Args: "ID", Doc: "remove one, and delete it from the disk if Tandem downloaded it",
			Needs: "the model's id: tandem models remove ID"},
		{Name: "unload", Args: "[ID]", Doc: "free the memory of a model, or of all"},
		{Name: "drafter", Args: "[--measure] ID [FOLDER|FILE.gguf|ID|auto|none]", Doc: "say or set what guesses ahead for a model, and list what could",
			Needs: "the model's id: tandem models drafter ID, or tandem models drafter ID FOLDER to set its drafter"},
	}
}

func (m *Main) models(ctx context.Context, args []string) error {
	sub := "list"
	if len(args) > 0 {
		sub, args = args[0], args[1:]
	}
	switch sub {
	case "-h", "-help", "--help":
		m.Flags("models").Usage()
		return nil
	case "list":
		return listModels(ctx, m, args)
	case "found":
		return foundModels(ctx, m, args)
	case "add":
		return addModel(ctx, m, args)
	case "remove":
		return removeModel(ctx, m, args)
	case "unload":
		return unloadModel(ctx, m, args)
	case "drafter":
		return drafterOf(ctx, m, args)
	}
	fmt.Fprintf(m.Stderr, "tandem models: there is no verb %q; use list, found, add FOLDER|FILE.gguf|ID, remove ID, unload [ID] or drafter ID\n",
		sub)
	return terminal.ErrUsage
}

func listModels(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("models list")
	asJSON := f.Bool("json", false, "one JSON object a line")
	if _, err := m.Parse(f, args, 0, 0); err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		state, err := control.Ask(ctx, c, control.GetState)
		if err != nil {
			return err
		}
		list, err := control.Ask(ctx, c, control.ListModels)
		if err != nil {
			return err
		}
		why := map[string]string{} // the models that cannot be loaded
		noChat := map[string]string{}
		gone := map[string]bool{}      // the models whose files are not there
		inexact := map[string]string{} // GGUF files that no form here holds exactly
		if !*asJSON {
			needs, err := control.Ask(ctx, c, control.GetMemory)
			if err != nil {
				return err
			}
			for _, n := range needs.Models {
				why[n.ID], noChat[n.ID], inexact[n.ID] = n.Why, n.NoChat, n.Inexact
			}
		}
		var rows [][]string
		for _, model := range list.Models {
			if *asJSON {
				if err := terminal.WriteJSON(m.Stdout, model); err != nil {
					return err
				}
				continue
			}
			if _, err := disk.Stat(model.Path); model.Path != "" && errors.Is(err, fs.ErrNotExist) {
				model.Source += ", gone"
				gone[model.ID] = true
			} else if why[model.ID] != "" {
				model.Source += ", unusable"
			}
			rows = append(rows, modelRow(state, model))
		}
		if *asJSON {
			return nil
		}
		if err := terminal.Table(m.Stdout, []string{"ID", "ARCHITECTURE", "PARAMETERS", "WEIGHTS", "ON DISK",
			"CONTEXT", "IN MEMORY", "SOURCE", "LAST USED"}, rows); err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(why)) {
			if gone[id] {
				fmt.Fprintf(m.Stderr, "tandem: %s\n", why[id])
			} else if why[id] != "" {
				fmt.Fprintf(m.Stderr, "tandem: %s cannot be loaded: %s\n", id, why[id])
			} else if noChat[id] != "" {
				m.warnNoChat(control.ModelNeeds{ID: id, NoChat: noChat[id]})
			}
		}
		for _, id := range slices.Sorted(maps.Keys(inexact)) {
			if inexact[id] != "" {
				fmt.Fprintf(m.Stderr, "tandem: %s is not held exactly: %s\n", id, inexact[id])
			}
		}
		return nil
	})
}

// modelRow returns the row of a model in the table.
func modelRow(state control.State, m control.Model) []string {
	mark := ""
	if m.ID == state.Choice {
		mark = "*"
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
		memory = control.ByteSize(l.Bytes) + rowsOf(l)
	}
	return []string{mark + m.ID, architecture, count(m.Parameters),
		m.Packing(), control.ByteSize(m.Bytes), context, memory, m.Source,
		clock(m.LastUsedAt)}
}

// rowsOf says how a model in memory keeps keys and values, where that is not the default.
func rowsOf(l *control.Loaded) (text string) {
	if l.KVBits > 0 {
		text = fmt.Sprintf(", kv_bits %d", l.KVBits)
	}
	if l.KVLayout != "" {
		text += ", " + l.KVLayout
	}
	return text
}

func addModel(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("models add")
	id := f.String("id", "", "register it as `ID` (default: its name at its publisher's, else that of the folder or the GGUF file)")
	rest, err := m.Parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	if rest[0] == "" {
		return terminal.Mistake(f, "the path is empty; give it a model's folder or GGUF file")
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
		fmt.Fprintln(m.Stdout, model.ID)
		name := library.TrimGGUF(filepath.Base(model.Path))
		if *id == "" && model.ID != rest[0] && model.ID != name {
			fmt.Fprintf(m.Stderr, "tandem: the id of %s is %s\n", terminal.Printable(model.Path),
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

// warnNoChat says that a model cannot chat, and how it can be used.
func (m *Main) warnNoChat(n control.ModelNeeds) {
	fmt.Fprintf(m.Stderr, "tandem: %s cannot chat: %s; mend it or take another file, or use "+
		"`tandem run --raw`\n", n.ID, n.NoChat)
}

// unloadModel frees the memory of a model, or of all.
func unloadModel(ctx context.Context, m *Main, args []string) error {
	rest, err := m.Parse(m.Flags("models unload"), args, 0, 1)
	if err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		id := ""
		if len(rest) > 0 {
			if id, err = idOf(ctx, c, rest[0]); err != nil {
				return err
			}
		}
		_, err := control.Call(ctx, c, control.UnloadModel, control.UnloadRequest{Model: id})
		return err
	})
}

func removeModel(ctx context.Context, m *Main, args []string) error {
	rest, err := m.Parse(m.Flags("models remove"), args, 1, 1)
	if err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		before, err := control.Ask(ctx, c, control.GetState)
		if err != nil {
			return err
		}
		id, err := idOf(ctx, c, rest[0])
		if err != nil {
			return err
		}
		gone, err := control.Call(ctx, c, control.RemoveModel, id)
		if err != nil {
			return err
		}
		if gone.Deletes {
			fmt.Fprintf(m.Stderr, "tandem: %s is deleted, which frees %s\n", id,
				control.ByteSize(gone.Bytes))
		}
		if before.Resident(id) != nil {
			fmt.Fprintf(m.Stderr, "tandem: %s was in memory and has been unloaded\n", id)
		}
		if before.Choice == id {
			next := "another"
			if after, err := control.Ask(ctx, c, control.GetState); err == nil { // the model is removed in any case
				next = after.Choice
			}
			fmt.Fprintf(m.Stderr, "tandem: %s was the chosen model; requests for %s now get %s\n",
				id, control.Alias, next)
		}
		return nil
	})
}
