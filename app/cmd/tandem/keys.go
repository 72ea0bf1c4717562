package main

import (
	"context"
	"fmt"

	"tandem/app/control"
	"tandem/app/terminal"
)

// keyVerbs are the words that may follow "keys".
func keyVerbs() []terminal.Verb {
	return []terminal.Verb{
		{Name: "list", Doc: "list them"},
		{Name: "add", Args: "NAME", Doc: "make one and print it, this once",
			Needs: "a key's name: tandem keys add NAME"},
		{Name: "delete", Args: "NAME", Doc: "delete one, and lock its machine out",
			Needs: "a key's name: tandem keys add NAME"},
	}
}

func (m *Main) keys(ctx context.Context, args []string) error {
	sub := "list"
	if len(args) > 0 {
		sub, args = args[0], args[1:]
	}
	switch sub {
	case "-h", "-help", "--help":
		m.Flags("keys").Usage()
		return nil
	case "list", "--json", "-json":
		if sub != "list" {
			args = append(args, sub)
		}
		return listKeys(ctx, m, args)
	case "add":
		rest, err := m.Parse(m.Flags("keys add"), args, 1, 1)
		if err != nil {
			return err
		}
		return m.withServer(ctx, func(c *control.Client) error {
			k, err := control.Call(ctx, c, control.AddKey, control.KeyRequest{Name: rest[0]})
			if err == nil {
				fmt.Fprintln(m.Stdout, k.Secret)
				fmt.Fprintln(m.Stderr, "tandem: this is the only time that the key is shown")
			}
			return err
		})
	case "delete":
		rest, err := m.Parse(m.Flags("keys delete"), args, 1, 1)
		if err != nil {
			return err
		}
		return m.withServer(ctx, func(c *control.Client) error {
			list, err := control.Ask(ctx, c, control.ListKeys)
			if err != nil {
				return err
			}
			for _, k := range list.Keys {
				if k.Name == rest[0] {
					_, err := control.Call(ctx, c, control.DeleteKey, k.ID)
					return err
				}
			}
			return fmt.Errorf("there is no key %q; `tandem keys` lists the keys", rest[0])
		})
	}
	fmt.Fprintf(m.Stderr, "tandem keys: there is no verb %q; use list, add NAME or delete NAME\n",
		sub)
	return terminal.ErrUsage
}

func listKeys(ctx context.Context, m *Main, args []string) error {
	f := m.Flags("keys list")
	asJSON := f.Bool("json", false, "one JSON object a line")
	if _, err := m.Parse(f, args, 0, 0); err != nil {
		return err
	}
	return m.withServer(ctx, func(c *control.Client) error {
		list, err := control.Ask(ctx, c, control.ListKeys)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, k := range list.Keys {
			if *asJSON {
				if err := terminal.WriteJSON(m.Stdout, k); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []string{k.Name, clock(k.CreatedAt), clock(k.UsedAt)})
		}
		if *asJSON {
			return nil
		}
		return terminal.Table(m.Stdout, []string{"NAME", "MADE", "LAST USED"}, rows)
	})
}
