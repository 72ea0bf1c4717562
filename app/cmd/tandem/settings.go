package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tandem/app/control"
	"tandem/app/terminal"
)

// settingVerbs are the words that may follow "settings".
func settingVerbs() []terminal.Verb {
	return []terminal.Verb{
		{Name: "list", Doc: "list them, and what decides each"},
		{Name: "set", Args: "NAME=VALUE ...", Doc: "set some at once; NAME=null puts the default back",
			Needs: "what to set: tandem settings set NAME=VALUE; `tandem settings` lists the names"},
	}
}

func (m *Main) settings(ctx context.Context, args []string) error {
	sub := "list"
	if len(args) > 0 {
		sub, args = args[0], args[1:]
	}
	switch sub {
	case "-h", "-help", "--help":
		m.Flags("settings").Usage()
		return nil
	case "list", "--json", "-json":
		if sub != "list" {
			args = append(args, sub)
		}
		return listSettings(ctx, m, args)
	case "set":
		return setSettings(ctx, m, args)
	}
	fmt.Fprintf(m.Stderr, "tandem settings: there is no verb %q; use list, or set NAME=VALUE\n",
		sub)
	return terminal.ErrUsage
}

func listSettings(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("settings list")
	asJSON := f.Bool("json", false, "one JSON object")
	if _, err := m.Parse(f, args, 0, 0); err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		st, err := control.Ask(ctx, c, control.GetSettings)
		if err != nil {
			return err
		}
		st.Settings = st.Settings.WithoutSecrets() // a terminal may be seen by others, and is kept
		if *asJSON {
			return terminal.WriteJSON(m.Stdout, st)
		}
		var rows [][]string
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
			rows = append(rows, []string{s.Name, value, source})
		}
		return terminal.Table(m.Stdout, []string{"NAME", "VALUE", "DECIDED BY"}, rows)
	})
}

// isAutomatic reports whether 0 leaves a setting to Tandem.
func isAutomatic(name string) bool {
	return name == "checkpoint_memory" || name == "checkpoint_disk"
}

func setSettings(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("settings set")
	rest, err := m.Parse(f, args, 1, len(args))
	if err != nil {
		return err
	}
	change := control.SettingsChange{}
	for _, arg := range rest {
		name, text, ok := strings.Cut(arg, "=")
		if !ok {
			return terminal.Mistake(f, fmt.Sprintf("%q is not a setting; write NAME=VALUE, or NAME=null for the default", arg))
		}
		if name == control.SettingHubToken && text != "" && text != "null" {
			return terminal.Mistake(f, "a token does not belong on a command line, where others can read it; set it in the window, or by HF_TOKEN")
		}
		change[name] = settingValue(name, text)
	}
	return m.withServer(ctx, func(c *control.Client) error {
		st, err := control.Call(ctx, c, control.ChangeSettings, change)
		if err != nil {
			return err
		}
		if st.Link != "" {
			fmt.Fprintln(m.Stderr,
				"tandem: the endpoint has moved; editors need its new address, which `tandem doctor` shows")
		}
		for _, s := range st.Sources {
			if _, changed := change[s.Name]; changed && s.Later == control.AtNextLoad {
				fmt.Fprintf(m.Stderr, "tandem: %s counts from the next load on; `tandem models unload` frees "+
					"the models in memory, and the next request loads its model again\n", s.Name)
			}
		}
		return nil
	})
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
	case kind == "number" && sizeFlag(&size)(text) == nil:
		return quoted(size)
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return quoted(text)
}
