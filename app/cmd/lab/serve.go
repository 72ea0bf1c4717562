package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/lab"
	"tandem/app/terminal"
	"tandem/models/starter"
)

// layouts are the values of --kv-layout.
var layouts = []string{control.KVRing, control.KVFull, lab.Bounded}

// serveFlags are the flags of serve.
type serveFlags struct {
	*app.ServeFlags
	cmd            *cobra.Command
	layout, fTheta string
}

func newServeFlags(cmd *cobra.Command) *serveFlags {
	s := &serveFlags{cmd: cmd, ServeFlags: app.NewServeFlags(cmd,
		", or retrieval, which comes with the program (default: the one that tandem serves)")}
	terminal.Choice(cmd, &s.layout, "kv-layout", "how rows of keys and values are kept: `ring|full|bounded`; "+
		"bounded keeps a sink and a window, and restores the rows between by an f_theta (default: ring)", layouts...)
	cmd.Flags().StringVar(&s.fTheta, "f-theta", "", "`DIR` of the f_theta of bounded layers "+
		"(default: the folder f_theta in the drafter's or the model's)")
	return s
}

// check refuses values that make no sense, as a mistake.
func (s *serveFlags) check() error {
	given := s.cmd.Flags().Changed
	switch {
	case given("f-theta") && s.fTheta == "":
		return terminal.Mistake(s.cmd, "--f-theta is empty; give it a folder, or leave it out for the one beside the drafter")
	case given("f-theta") && s.layout != lab.Bounded:
		return terminal.Mistake(s.cmd, "--f-theta counts with --kv-layout bounded alone")
	}
	return s.Check()
}

// options returns what the flags and the environment say.
func (s *serveFlags) options(m *Main) (o app.Options, err error) {
	o = app.FromEnvironment(m.Getenv)
	o.Program, o.Version = terminal.Executable(), m.Version
	o.Starter = starter.Beside(o.Program)
	o.Logger = m.Logger(s.Verbose)
	o.Hub.Logger = o.Logger
	s.Decide(&o)
	o.KVLayout, o.Trial = s.layout, true // tandem's choice stays what it was
	if s.Model == lab.RetrievalModel {
		if o.Model, err = m.retrievalFolder(); err != nil {
			return o, err
		}
	}
	if s.layout == lab.Bounded {
		if s.fTheta != "" {
			if s.fTheta, err = filepath.Abs(s.fTheta); err != nil {
				return o, err
			}
		}
		o.KVLayout, o.Restore = "", lab.RestoreBy(s.fTheta)
	}
	return o, nil
}

// serve is tandem serve with another choice of how rows of keys and values are kept.
func serve(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "serve the endpoint in the foreground, with bounded layers if asked for",
		Args: terminal.NoArgs}
	s := newServeFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := s.check(); err != nil {
			return err
		}
		ctx := cmd.Context()
		o, err := s.options(m)
		if err != nil {
			return err
		}
		a, err := app.Open(ctx, o)
		if err != nil {
			return err
		}
		err = a.Serve(ctx, app.ServeOptions{
			Endpoint: true, Addr: s.Addr, Preload: true,
			Ready:  func(address, _ string) { m.sayReady(a, address) },
			Loaded: func(err error) { m.sayLoaded(a, err) },
		})
		return errors.Join(err, a.Close())
	}
	return cmd
}

// sayReady prints where the endpoint is, or why there is none.
func (m *Main) sayReady(a *app.App, address string) {
	if address == "" {
		m.Say("running without an endpoint: %s. Give another port by --addr.", a.State().Error)
		return
	}
	fmt.Fprintln(m.Stdout, address)
}

// sayLoaded tells what is served, or what to do where the model cannot be.
func (m *Main) sayLoaded(a *app.App, err error) {
	choice := a.State().Choice
	if err == nil {
		fmt.Fprintf(m.Stderr, "Serving %s. Ctrl-C stops.\n", choice)
		return
	}
	try := ""
	if _, ok := errors.AsType[*lab.BoundError](err); ok && choice != lab.RetrievalModel {
		try = fmt.Sprintf(" To try bounded layers, press Ctrl-C, then `tandem-lab serve --model %s "+
			"--kv-layout bounded`, a model that comes with the program.", lab.RetrievalModel)
	}
	m.Say("%s cannot be served: %s.\nUntil it can, requests for it get this error.%s", choice,
		strings.TrimSuffix(err.Error(), "."), try)
}
