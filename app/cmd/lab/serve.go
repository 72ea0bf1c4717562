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
	cmd                  *cobra.Command
	addr, model, drafter string
	layout, fTheta       string
	checkpoints          string
	speculation          string
	context              int // tokens
	verbose              bool
}

func newServeFlags(cmd *cobra.Command) *serveFlags {
	f := cmd.Flags()
	s := &serveFlags{cmd: cmd, checkpoints: "on", speculation: "auto"}
	f.StringVar(&s.addr, "addr", "", "`HOST:PORT` to listen at, for this machine alone; port 0 picks one "+
		"(default: 127.0.0.1 and the port of the settings)")
	f.StringVar(&s.model, "model", "", "`DIR|FILE.gguf|ID` of the model to serve, "+
		"or retrieval, which comes with the program (default: the one that tandem serves)")
	f.StringVar(&s.drafter, "drafter", "", "`DIR|FILE.gguf|ID|auto|none`: drafter of that model while this runs "+
		"(default: what tandem models drafter set)")
	f.IntVar(&s.context, "context", 0, "context length, `N` tokens (default: the model's)")
	terminal.Choice(cmd, &s.layout, "kv-layout", "how rows of keys and values are kept: `ring|full|bounded`; "+
		"bounded keeps a sink and a window, and restores the rows between by an f_theta (default: ring)", layouts...)
	f.StringVar(&s.fTheta, "f-theta", "", "`DIR` of the f_theta of bounded layers "+
		"(default: the folder f_theta in the drafter's or the model's)")
	terminal.Choice(cmd, &s.checkpoints, "checkpoints", "`on|off`: keep what was computed for requests that begin alike "+
		"(default: on)", "on", "off")
	terminal.Choice(cmd, &s.speculation, "speculation", "`auto|none`, for requests that do not choose for themselves "+
		"(default: auto)", "auto", "none")
	f.BoolVar(&s.verbose, "verbose", false, "log more")
	return s
}

// check refuses values that make no sense, as a mistake.
func (s *serveFlags) check() error {
	given := s.cmd.Flags().Changed
	switch {
	case given("model") && s.model == "":
		return terminal.Mistake(s.cmd, "--model is empty; give it a folder, a GGUF file, an id or retrieval, or leave it out for the one that tandem serves")
	case given("drafter") && s.drafter == "":
		return terminal.Mistake(s.cmd, "--drafter is empty; give it a folder, a GGUF file, an id, auto or none, or leave it out for what was set")
	case given("addr") && s.addr == "":
		return terminal.Mistake(s.cmd, "--addr is empty; write HOST:PORT, for example 127.0.0.1:0, or leave it out")
	case s.context < 0:
		return terminal.Mistake(s.cmd, "--context must be at least 0")
	case given("f-theta") && s.fTheta == "":
		return terminal.Mistake(s.cmd, "--f-theta is empty; give it a folder, or leave it out for the one beside the drafter")
	case given("f-theta") && s.layout != lab.Bounded:
		return terminal.Mistake(s.cmd, "--f-theta counts with --kv-layout bounded alone")
	}
	return nil
}

// options returns what the flags and the environment say.
func (s *serveFlags) options(m *Main) (o app.Options, err error) {
	o = app.FromEnvironment(m.Getenv)
	o.Program, o.Version = terminal.Executable(), m.Version
	o.Starter = starter.Beside(o.Program)
	o.Logger = m.Logger(s.verbose)
	o.Hub.Logger = o.Logger
	o.Drafter, o.ContextLength, o.KVLayout = s.drafter, s.context, s.layout
	o.NoCheckpoints, o.Speculation = s.checkpoints == "off", s.speculation
	o.Model, o.Trial = s.model, true // tandem's choice stays what it was
	if s.model == lab.RetrievalModel {
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
			Endpoint: true, Addr: s.addr, Preload: true,
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
		fmt.Fprintf(m.Stderr, "tandem-lab: running without an endpoint: %s. Give another port by --addr.\n",
			a.State().Error)
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
	fmt.Fprintf(m.Stderr, "tandem-lab: %s cannot be served: %s.\n"+
		"Until it can, requests for it get this error.%s\n", choice,
		strings.TrimSuffix(err.Error(), "."), try)
}
