package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

func listSettings(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list them, and what decides each", Args: terminal.NoArgs}
	f := cmd.Flags()
	asJSON := f.Bool("json", false, "one JSON object")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, _ []string) error {
		st, err := control.Ask(ctx, c, control.GetSettings)
		if err != nil {
			return err
		}
		st.Settings = st.Settings.WithoutSecrets() // a terminal may be seen by others, and is kept
		if *asJSON {
			return m.PrintJSON(st)
		}
		var rows [][]any
		for _, s := range st.Sources {
			value := "not set"
			if s.Name != control.SettingHubToken {
				raw, err := st.Settings.Value(s.Name)
				if err != nil {
					return err
				}
				if value = string(raw); value == "0" && isAutomatic(s.Name) {
					value = "0 (automatic)"
				}
			} else if st.HubToken {
				value = "set, and not shown"
			}
			source := string(s.Source)
			if s.By != "" {
				source += ", " + s.By
			}
			if s.Later == control.AtNextLoad {
				source += "; counts when a model is loaded next"
			}
			rows = append(rows, []any{s.Name, terminal.ID(value), source})
		}
		return m.Table([]terminal.Column{{Name: "NAME", Whole: true}, {Name: "VALUE"}, {Name: "SET WITH", Wraps: true}}, rows)
	})
	return cmd
}

// isAutomatic reports whether 0 leaves a setting to Tandem.
func isAutomatic(name string) bool {
	return name == "checkpoint_memory" || name == "checkpoint_disk"
}

func setSettings(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "set NAME=VALUE ...", Short: "set some at once; NAME=null puts the default back",
		Args: terminal.Args(1, math.MaxInt, "what to set, of the names that `tandem settings` lists")}
	cmd.RunE = func(_ *cobra.Command, rest []string) error {
		ctx := cmd.Context()
		change := control.SettingsChange{}
		for _, arg := range rest {
			name, text, ok := strings.Cut(arg, "=")
			if !ok {
				return terminal.Mistake(cmd, fmt.Sprintf("%q is not a setting; write NAME=VALUE, or NAME=null for the default", arg))
			}
			if name == control.SettingHubToken && text != "" && text != "null" {
				return terminal.Mistake(cmd, "a token does not belong on a command line, where others can read it; set it in the window, or by HF_TOKEN")
			}
			change[name] = settingValue(name, text)
		}
		return m.withServer(ctx, func(c *control.Client) error {
			st, err := control.Call(ctx, c, control.ChangeSettings, change)
			if err != nil {
				return err
			}
			if st.Link != "" {
				m.Say("the endpoint has moved; editors need its new address, which `tandem status` shows")
			}
			for _, s := range st.Sources {
				if _, changed := change[s.Name]; !changed {
					continue
				}
				from := "now on"
				if s.Later == control.AtNextLoad {
					from = "the next load on; `tandem models unload` frees the models in memory, and the next " +
						"request loads its model again"
				}
				m.Say("%s counts from %s", s.Name, from)
			}
			return nil
		})
	}
	return cmd
}

// settingValue turns a value from the command line into JSON. A text setting takes any text; a list
// takes entries with commas between them; a number may be a size. Everything else is taken as JSON
// if it is JSON.
func settingValue(name, text string) json.RawMessage {
	quoted := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // texts and numbers
		}
		return b
	}
	var size int64
	switch kind := control.SettingKind(name); {
	case text == "null":
		return json.RawMessage(text)
	case kind == "text":
		return quoted(text)
	case kind == "list" && !strings.HasPrefix(text, "["):
		if text == "" {
			return json.RawMessage("[]")
		}
		return quoted(strings.Split(text, ","))
	case kind == "number" && terminal.Size(&size)(text) == nil:
		return quoted(size)
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return quoted(text)
}
