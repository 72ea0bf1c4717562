package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

func pull(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "pull ORG/NAME[:TAG][@REVISION]", Short: "download a model from Hugging Face",
		SuggestFor: []string{"download", "get", "install"},
		Long:       "Downloads a model from Hugging Face. TAG takes that quantization of GGUF files.",
		Args:       terminal.Args(1, 1, "the model to download")}
	alone := cmd.Flags().Bool("no-drafter", false, "leave out the drafter that comes with a suggested model")
	cmd.RunE = m.asking(func(ctx context.Context, c *control.Client, rest []string) error {
		id, revision, _ := strings.Cut(rest[0], "@")
		if !strings.Contains(id, "/") { // as Ollama's names are
			catalogue, err := control.Call(ctx, c, control.GetCatalogue, false)
			if near := (known{catalogue: catalogue.Models}).near(id); err == nil && near != "" {
				return terminal.Mistake(cmd, "a name at the hub is ORG/NAME; did you mean "+near+"?")
			}
		}
		state, err := control.Ask(ctx, c, control.GetState)
		if err != nil {
			return err
		}
		model, err := m.download(ctx, c, rest[0], control.PullRequest{ID: id, Revision: revision, NoDrafter: *alone})
		if err == nil {
			if m.Terminal && model.ID != state.Choice && model.Kind == "" && model.Architecture != "" {
				m.Remark("`tandem use %s` makes it the current model.", model.ID)
			}
			return m.Print("%s", model.ID)
		}
		if e, ok := errors.AsType[*control.Error](err); ok && state.PID != os.Getpid() &&
			dependsOnEnvironment(e) {
			return fmt.Errorf("%w (the server, process %d, downloads with its own HF_ variables)", e, state.PID)
		}
		return err
	})
	return cmd
}

// download pulls a model and shows how far it is, under a name.
func (m *Main) download(ctx context.Context, c *control.Client, name string, r control.PullRequest) (control.Model,
	error) {
	bar := m.NewBar()
	var note string
	model, err := c.Pull(ctx, r, func(p control.Progress) {
		switch {
		case p.Note != "":
			note = p.Note
		case p.Waiting != "":
			bar.Draw(name, waiting(p.Done, p.Total, p.Waiting))
		default:
			bar.Draw(name, amount(p.Done, p.Total, p.PerSecond))
		}
	})
	bar.End()
	if note != "" {
		m.Say("%s", note)
	}
	return model, err
}

// dependsOnEnvironment reports whether another hub, token or cache could have let a download succeed.
// Every process refuses a bad name, and a model that no family here can load.
func dependsOnEnvironment(e *control.Error) bool {
	switch e.Code {
	case control.CodeUnavailable, control.CodeGated, control.CodeModelNotFound, control.CodeFolder,
		control.CodeDiskFull:
		return true
	case control.CodeInvalid:
		return e.Param != "id"
	}
	return false
}
