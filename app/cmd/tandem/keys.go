package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

func listKeys(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list them", Args: terminal.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, _ []string) error {
		list, err := control.Ask(ctx, c, control.ListKeys)
		if err != nil {
			return err
		}
		return terminal.List[control.Key]{
			Columns: []terminal.Column{{Name: "NAME"}, {Name: "MADE"}, {Name: "LAST USED"}},
			Row:     func(k control.Key) []any { return []any{k.Name, k.CreatedAt, k.UsedAt} },
			Empty:   "there are no keys; `tandem keys add NAME` makes one",
		}.Print(&m.Program, *asJSON, list.Keys)
	})
	return cmd
}

func addKey(m *Main) *cobra.Command {
	return &cobra.Command{Use: "add NAME", Short: "make one and print it, this once",
		Args: terminal.Args(1, 1, "a key's name"),
		RunE: m.asking(func(ctx context.Context, c *control.Client, args []string) error {
			k, err := control.Call(ctx, c, control.AddKey, control.KeyRequest{Name: args[0]})
			if err != nil {
				return err
			}
			m.Say("this is the only time that the key is shown")
			return m.Print("%s", k.Secret)
		})}
}

func deleteKey(m *Main) *cobra.Command {
	return &cobra.Command{Use: "delete NAME", Short: "delete one, and lock its machine out",
		Args: terminal.Args(1, 1, "a key's name"),
		RunE: m.asking(func(ctx context.Context, c *control.Client, args []string) error {
			list, err := control.Ask(ctx, c, control.ListKeys)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(list.Keys, func(k control.Key) bool { return k.Name == args[0] })
			if i < 0 {
				return fmt.Errorf("there is no key %q; `tandem keys` lists the keys", args[0])
			}
			_, err = control.Call(ctx, c, control.DeleteKey, list.Keys[i].ID)
			if err == nil {
				m.Say("deleted the key %s; programs that send it are refused",
					terminal.Printable(args[0]))
			}
			return err
		})}
}
