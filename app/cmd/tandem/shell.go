package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/terminal"
)

// completeWithin bounds the time that a shell waits for ids of models.
const completeWithin = 150 * time.Millisecond

// completeModel completes the id of a registered model, as the first word of a verb. It starts nothing, and
// completes nothing where something fails.
func (m *Main) completeModel(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return m.modelIDs(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
}

// completeModelOrFile is completeModel where a folder or a file will do too.
func (m *Main) completeModelOrFile(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	return m.modelIDs(cmd.Context()), cobra.ShellCompDirectiveDefault
}

// modelIDs asks the process that serves the home folder for its models, or reads the registry of a folder
// that no process holds.
func (m *Main) modelIDs(ctx context.Context) (ids []string) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	c := control.Dial(m.home())
	defer c.Close()
	list, err := control.Ask(ctx, c, control.ListModels)
	if control.NotRunning(err) {
		if owner, err := home.Owner(m.home()); err != nil || owner != "" {
			return nil
		}
		list.Models, _ = app.Registered(ctx, m.home())
	}
	for _, model := range list.Models {
		ids = append(ids, model.ID)
	}
	return ids
}

// man returns the verb by which the packer writes manual pages.
func man(m *Main) *cobra.Command {
	return &cobra.Command{Use: "man DIR", Short: "write manual pages into a folder", Hidden: true,
		Args: terminal.Args(1, 1, "a folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			m.Root.DisableAutoGenTag = true // pages of the same program are the same
			return doc.GenManTree(m.Root, &doc.GenManHeader{Section: "1", Source: "Tandem " + m.Version}, args[0])
		}}
}
