package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tandem/app/connect"
	"tandem/app/control"
	"tandem/app/terminal"
)

// launchVerb returns the verb that starts a program which uses the running Tandem.
func launchVerb(m *Main) *cobra.Command {
	var names []string
	for _, p := range connect.Programs() {
		if p.Command != nil {
			names = append(names, p.ID)
		}
	}
	cmd := &cobra.Command{Use: "launch PROGRAM [-- ARGS]", Short: "start an agent on Tandem; its own settings stay",
		Long: "Start an agent that uses the current model of the running Tandem, for this run\n" +
			"alone: its own settings stay as they are.\n\nPrograms: " + strings.Join(names, ", "),
		Example:   "  tandem launch claude\n  tandem launch codex -- exec 'Explain main.go'",
		Args:      terminal.Args(1, math.MaxInt, "a program, such as "+strings.Join(names, ", ")),
		ValidArgs: names, DisableFlagsInUseLine: true}
	model := cmd.Flags().String("model", control.Alias, "`ID` of the model")
	print := cmd.Flags().Bool("print", false, "print what would be set and run, as lines of a shell, and run nothing")
	cmd.RegisterFlagCompletionFunc("model", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		return m.modelIDs(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 && cmd.ArgsLenAtDash() != 1 {
			return terminal.Mistake(cmd, fmt.Sprintf("put the program's own arguments behind --: tandem launch %s -- %s",
				args[0], strings.Join(args[1:], " ")))
		}
		p, err := programOf(cmd, args[0])
		if err != nil {
			return err
		}
		path, err := exec.LookPath(p.Binary())
		if err != nil && !*print {
			return fmt.Errorf("%s is not installed: there is no %s in PATH; its makers install it by\n%s",
				p.Name, p.Binary(), p.Install)
		}
		e, err := m.endpointFor(cmd.Context(), p, *model)
		if err != nil {
			return err
		}
		if *print {
			return m.Print("%s", p.Command(e, filepath.Join(os.TempDir(), "tandem-"+p.ID)).With(args[1:]).Script())
		}
		return m.runProgram(cmd.Context(), p, path, e, args[1:])
	}
	return cmd
}

// programOf returns the program with a name, or a mistake that says which there are.
func programOf(cmd *cobra.Command, name string) (connect.Program, error) {
	for _, p := range connect.Programs() {
		switch {
		case p.Command != nil && (p.ID == name || p.Binary() == name):
			return p, nil
		case p.ID == name:
			return p, terminal.Mistake(cmd, fmt.Sprintf("%s cannot be told of Tandem for one run; Connect, in the page "+
				"that `tandem open` opens, has its settings", p.Name))
		}
	}
	hint := "there are " + strings.Join(cmd.ValidArgs, ", ") +
		"; Connect, in the page that `tandem open` opens, has what others need"
	if near := terminal.Near(name, cmd.ValidArgs...); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "? " + strings.ToUpper(hint[:1]) + hint[1:]
	}
	return connect.Program{}, terminal.Mistake(cmd, fmt.Sprintf("there is no program %q; %s", name, hint))
}

// endpointFor asks the running Tandem what a program needs to know, and says which model it gets and
// whether that model's context is long enough.
func (m *Main) endpointFor(ctx context.Context, p connect.Program, model string) (e connect.Endpoint, err error) {
	c := control.Dial(m.home())
	defer c.Close()
	state, err := control.Ask(ctx, c, control.GetState)
	if err != nil {
		return e, err
	}
	if state.Address == "" {
		return e, state.NoEndpoint()
	}
	page, err := control.Ask(ctx, c, control.GetConnect)
	if err != nil {
		return e, err
	}
	e = connect.Endpoint{BaseURL: page.BaseURL, Key: control.Alias, Model: model, Context: page.Context}
	if page.NeedsKey {
		if e.Key = m.Getenv(connect.KeyVariable); e.Key == "" {
			return e, fmt.Errorf("the settings ask programs for a key: `tandem keys add NAME` makes one; set %s to it",
				connect.KeyVariable)
		}
	}
	id := page.Model
	if model != control.Alias {
		list, err := control.Ask(ctx, c, control.ListModels)
		if err != nil {
			return e, err
		}
		if id, err = idOf(ctx, c, model); err != nil {
			return e, err
		}
		i := slices.IndexFunc(list.Models, func(m control.Model) bool { return m.ID == id })
		if i < 0 {
			return e, fmt.Errorf("there is no model %s here; `tandem list` shows those there are", terminal.Printable(model))
		}
		e.Model, e.Context = id, state.ContextOf(id, list.Models[i].ContextLength)
	}
	m.Say("%s", launchLine(p, id, e.Context, page.Longer))
	return e, nil
}

// launchLine says which model a program gets, which context it needs and whether the model has it.
func launchLine(p connect.Program, id string, has int, longer []control.LongerModel) string {
	says, tokens := fmt.Sprintf("%s uses %s", p.Name, id), control.Grouped(has)+" tokens"
	needs := fmt.Sprintf("%s. It needs a context of %s tokens", says, control.Grouped(p.Context))
	switch {
	case p.Context == 0 && has == 0:
		return says
	case p.Context == 0:
		return fmt.Sprintf("%s, with a context of %s", says, tokens)
	case has == 0:
		return needs + "; the model's is unknown"
	case has >= p.Context:
		return fmt.Sprintf("%s, whose context of %s is enough", says, tokens)
	}
	needs += ", and the model has only " + tokens
	if len(longer) > 0 && longer[0].Context >= p.Context {
		return needs + fmt.Sprintf("; `--model %s` has %s", longer[0].ID, control.Grouped(longer[0].Context))
	}
	return needs + "; Connect, in the page that `tandem open` opens, says how to get more"
}

// runProgram runs a program in the foreground until it ends, and returns its exit code as an error. Files
// that it needs are there as long as it runs.
func (m *Main) runProgram(ctx context.Context, p connect.Program, path string, e connect.Endpoint,
	args []string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT) // the folder may hold a key
	defer stop()
	dir, err := os.MkdirTemp("", "tandem-"+p.ID+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := p.Command(e, dir).With(args)
	if c.File != "" {
		if err := os.WriteFile(c.File, []byte(c.Text), 0o600); err != nil {
			return err
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(c.Unset, name)
	})
	env = append(env, c.Env...) // the last of two values counts
	if c.Before != nil {
		before := exec.CommandContext(ctx, path, c.Before[1:]...)
		before.Env = env
		if out, err := before.CombinedOutput(); err != nil {
			return fmt.Errorf("%s cannot be set up: %w\n%s", p.Name, err, strings.TrimSpace(string(out)))
		}
	}
	child := exec.Command(path, c.Args[1:]...)
	child.Env = env
	err = m.RunChild(ctx, child)
	if errors.Is(err, syscall.ENOEXEC) { // such as npm's placeholder, where the step after an install did not run
		return fmt.Errorf("%s cannot be started: %s is not a program; install %[1]s again", p.Name, path)
	}
	return err
}
