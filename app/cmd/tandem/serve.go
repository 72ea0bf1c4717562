package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/terminal"
	"tandem/frontend"
)

// errStarted ends the watch over the first load.
var errStarted = errors.New("started")

// lockPatience is how long a supervised process waits for the home folder, which the one before it
// holds while it drains.
const lockPatience = 10 * time.Second

// serveFlags are the flags of serve.
type serveFlags struct {
	*app.ServeFlags
	cmd             *cobra.Command
	dtype, kvLayout string
	memory, disk    int64 // bytes
	kvBits          kvBitsFlag
	hosts, origins  []string
	supervised      bool
	script          func(*app.Options) error // see engineFlags
}

func newServeFlags(cmd *cobra.Command) *serveFlags {
	f := cmd.Flags()
	s := &serveFlags{cmd: cmd, ServeFlags: app.NewServeFlags(cmd, " (default: the last one, at first the starter)")}
	terminal.Choice(cmd, &s.dtype, "dtype", "type to compute in: `auto|float32|checkpoint`; checkpoint keeps weights as stored "+
		"(default: the setting dtype, auto unless changed)", "auto", "float32", "checkpoint")
	s.kvBits.add(cmd)
	f.StringVar(&s.kvLayout, "kv-layout", "", "what layers that look back over a window keep: `ring|full`, "+
		"a ring of rows or every row (default: ring)")
	f.Func("checkpoint-memory",
		"`SIZE` of memory that checkpoints take at most, such as 4GB or 4GiB "+
			"(default: an eighth of the machine's)", terminal.Size(&s.memory))
	f.Func("checkpoint-disk", "`SIZE` of the disk that they take at most "+
		"(default: a tenth of what is free, 16 GiB at most)", terminal.Size(&s.disk))
	f.Func("allow-host", "`NAME` by which a proxy on this machine calls the endpoint; may be repeated",
		func(name string) error {
			s.hosts = append(s.hosts, name)
			return control.CheckHost(name)
		})
	f.Func("allow-origin", "`ORIGIN` that may call /v1 from a browser, such as app://obsidian.md; may be repeated",
		func(origin string) error {
			s.origins = append(s.origins, origin)
			return control.CheckOrigin(origin)
		})
	f.BoolVar(&s.supervised, "supervised", false,
		"end when standard input ends, as it does when the program that started this one does")
	s.script = engineFlags(f)
	return s
}

// check refuses values that make no sense, as a mistake.
func (s *serveFlags) check() error {
	given := s.cmd.Flags().Changed
	switch {
	case given("kv-layout") && s.kvLayout == "bounded":
		return terminal.Mistake(s.cmd, "bounded layers are for experiments; `tandem-lab serve` has them, and `go run ./build lab` builds it")
	case given("kv-layout") && s.kvLayout != control.KVRing && s.kvLayout != control.KVFull:
		return terminal.Mistake(s.cmd, fmt.Sprintf("--kv-layout must be ring or full, not %q", s.kvLayout))
	}
	return s.Check()
}

// options returns what the flags and the environment say.
func (s *serveFlags) options(m *Main) (app.Options, error) {
	o := m.options(m.Logger(s.Verbose))
	s.Decide(&o)
	decides := func(flag string) bool {
		if s.cmd.Flags().Changed(flag) {
			o.Overrides[strings.ReplaceAll(flag, "-", "_")] = control.Given{Source: control.FromFlag, By: "--" + flag}
		}
		return s.cmd.Flags().Changed(flag)
	}
	if decides("checkpoint-memory") {
		o.Settings.CheckpointMemory = s.memory
	}
	if decides("checkpoint-disk") {
		o.Settings.CheckpointDisk = s.disk
	}
	if decides("dtype") {
		o.Settings.Dtype = control.Dtype(s.dtype)
	}
	s.kvBits.decide(&o)
	o.KVLayout = s.kvLayout
	return o, s.script(&o)
}

func serve(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "serve models to editors and agents, in the foreground",
		SuggestFor: []string{"start"},
		Args:       terminal.NoArgs,
		Example:    "  tandem serve --model ~/models/my-qwen3\n  tandem serve --addr 127.0.0.1:9000"}
	s := newServeFlags(cmd)
	cmd.RegisterFlagCompletionFunc("model", m.completeModelOrFile)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := s.check(); err != nil {
			return err
		}
		ctx := cmd.Context()
		o, err := s.options(m)
		if err != nil {
			return err
		}
		if s.supervised {
			var end context.CancelFunc
			ctx, end = context.WithCancel(ctx)
			defer end()
			go func() {
				_, _ = io.Copy(io.Discard, m.Stdin) // an error ends it too
				end()
			}()
		}
		a, err := openHome(ctx, o, s.supervised)
		if err != nil {
			return orFolder(err, s.Model)
		}
		stop := m.watch(ctx, func(context.Context) (control.State, error) {
			state := a.State()
			if state.Phase != control.PhaseStarting && state.Phase != control.PhaseLoading {
				return state, errStarted
			}
			return state, nil
		})
		err = a.Serve(ctx, app.ServeOptions{
			Endpoint: true, Addr: s.Addr, Preload: true, Pages: frontend.Files(),
			AllowedHosts: s.hosts, AllowedOrigins: s.origins,
			Hold: hold, Pressure: pressure,
			Ready: func(address, link string) { m.sayReady(a, address, link) },
			Moved: func(address string) { m.Say("the endpoint has moved; its base URL is %s/v1", address) },
			Loaded: func(err error) {
				stop()
				m.sayLoaded(a, err)
			},
			Draining: func(requests int) {
				m.Say("finishing %s, for some seconds at most; press Ctrl-C again to stop at once",
					control.Plural(requests, "request"))
			},
		})
		stop()
		return errors.Join(err, a.Close())
	}
	return cmd
}

// openHome opens the app. A supervised process waits for the home folder as long as lockPatience.
func openHome(ctx context.Context, o app.Options, supervised bool) (*app.App, error) {
	a, err := app.Open(ctx, o)
	deadline := time.Now().Add(lockPatience)
	for supervised && isLocked(err) && time.Now().Before(deadline) && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
		a, err = app.Open(ctx, o)
	}
	return a, err
}

func isLocked(err error) bool {
	_, locked := errors.AsType[*home.LockedError](err)
	return locked
}

// sayReady prints where the endpoint is, or that there is none.
func (m *Main) sayReady(a *app.App, address, link string) {
	if address == "" {
		m.Say("running without an endpoint, so that no editor reaches this process: %s.\n"+
			"Ctrl-C stops it, and `tandem serve --addr 127.0.0.1:PORT` starts it at another port; until then `tandem run` and the other commands use it.",
			a.State().Error)
		return
	}
	m.Print("%s", address)
	m.Remark("Open this link within a minute (it works once; `tandem open` makes another):")
	m.Print("%s", link)
	m.Remark("Ctrl-C stops.")
}

// sayLoaded tells what is served, or what to do where the model cannot be.
func (m *Main) sayLoaded(a *app.App, err error) {
	state := a.State()
	switch {
	case err != nil:
		spare := ""
		if id := a.Spare(); id != "" {
			spare = fmt.Sprintf(", or `tandem use %s`, which comes with the program", id)
		}
		m.Say("%s cannot be served: %v\n"+
			"Until it can, requests for it get this error. To serve another: `tandem use ID` (`tandem list` lists them)%s.", state.Choice, err, spare)
	case state.Address != "":
		m.Remark("Serving %s. In an editor: base URL %s/v1, model %s, any API key.",
			state.Choice, state.Address, control.Alias)
		if a.ServesStarter() {
			m.Remark("You're on the tiny starter model (135M), which is often wrong. Models in the\n" +
				"window shows which ones fit here; `tandem pull ORG/NAME` gets one.")
		}
	}
	if l := state.Loaded; err == nil && l != nil && l.ShortContext != "" {
		m.Say("the context is %s tokens: %s.",
			control.Grouped(l.ContextLength), l.ShortContext)
	}
}
