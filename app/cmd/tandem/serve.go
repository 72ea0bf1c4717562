package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/home"
	"tandem/frontend"
)

// errStarted ends the watch over the first load.
var errStarted = errors.New("started")

func serve(ctx context.Context, m *Main, args []string) error {
	f := m.flags("serve")
	addr := f.String("addr", "", fmt.Sprintf("loopback address and port, for this machine alone; port 0 picks one (default: 127.0.0.1 and the port of the settings, which is %d unless changed)", control.DefaultPort))
	model := f.String("model", "", "folder or id of the model to serve (default: the last one)")
	drafter := f.String("drafter", "", "drafter of that model while this runs: a folder, ORG/NAME of one in the hub's cache, auto or none (default: what tandem models drafter set)")
	length := f.Int("context", 0, "context length in tokens (default: the model's)")
	dtype := f.String("dtype", "auto", "auto, float32 or checkpoint")
	checkpoints := f.String("checkpoints", "on", "on, or off: keep what was computed for requests that begin alike")
	var memory, disk int64
	f.Func("checkpoint-memory", "`SIZE` that checkpoints take of memory at most, such as 4GB or 4GiB (default: an eighth of the machine's)", sizeFlag(&memory))
	f.Func("checkpoint-disk", "`SIZE` that they take of the disk at most (default: a tenth of what is free, 16 GiB at most)", sizeFlag(&disk))
	speculation := f.String("speculation", "auto", "auto, or none: what requests get that do not choose for themselves")
	var hosts, origins []string
	f.Func("allow-host", "`NAME` by which a proxy on this machine calls the endpoint; may be repeated", func(s string) error {
		hosts = append(hosts, s)
		return control.CheckHost(s)
	})
	f.Func("allow-origin", "`ORIGIN` that may call /v1 from a browser, such as app://obsidian.md; may be repeated", func(s string) error {
		origins = append(origins, s)
		return control.CheckOrigin(s)
	})
	verbose := f.Bool("verbose", false, "log more")
	supervised := f.Bool("supervised", false, "end with standard input, as the program that started this one does")
	script := engineFlags(f)
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	given := map[string]bool{}
	f.Visit(func(set *flag.Flag) { given[set.Name] = true })
	if given["model"] && *model == "" {
		return mistake(f, noModel)
	}
	if given["drafter"] && *drafter == "" {
		return mistake(f, "--drafter is empty; give it a folder, ORG/NAME, auto or none, or leave it out for what was set")
	}
	if given["addr"] && *addr == "" {
		return mistake(f, fmt.Sprintf("--addr is empty; write HOST:PORT, for example 127.0.0.1:%d, or leave it out", control.DefaultPort))
	}
	if *length < 0 {
		return mistake(f, "--context must be at least 0")
	}
	if *checkpoints != "on" && *checkpoints != "off" {
		return mistake(f, fmt.Sprintf("--checkpoints must be on or off, not %q", *checkpoints))
	}
	if *speculation != "auto" && *speculation != "none" {
		return mistake(f, fmt.Sprintf("--speculation must be auto or none, not %q; a request can name a drafter", *speculation))
	}
	o := m.options(m.logger(*verbose))
	o.NoCheckpoints = *checkpoints == "off"
	if given["checkpoint-memory"] {
		o.Settings.CheckpointMemory, o.Given["checkpoint_memory"] = memory, control.Given{Source: control.FromFlag, By: "--checkpoint-memory"}
	}
	if given["checkpoint-disk"] {
		o.Settings.CheckpointDisk, o.Given["checkpoint_disk"] = disk, control.Given{Source: control.FromFlag, By: "--checkpoint-disk"}
	}
	o.Model, o.Drafter, o.ContextLength, o.Dtype, o.Speculation = *model, *drafter, *length, *dtype, *speculation
	if err := script(&o); err != nil {
		return err
	}
	if *supervised {
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		defer end()
		go func() {
			_, _ = io.Copy(io.Discard, m.Stdin) // however it ends
			end()
		}()
	}
	a, err := app.Open(ctx, o)
	for deadline := time.Now().Add(lockPatience); *supervised && isLocked(err) && time.Now().Before(deadline) && ctx.Err() == nil; {
		time.Sleep(50 * time.Millisecond)
		a, err = app.Open(ctx, o)
	}
	if err != nil {
		return orFolder(err, *model)
	}
	stop := m.watch(ctx, func(context.Context) (control.State, error) {
		s := a.State()
		if s.Phase != control.PhaseStarting && s.Phase != control.PhaseLoading {
			return s, errStarted
		}
		return s, nil
	})
	err = a.Serve(ctx, app.ServeOptions{
		Endpoint: true, Addr: *addr, Preload: true, Pages: frontend.Files(),
		AllowedHosts: hosts, AllowedOrigins: origins,
		Hold: hold,
		Ready: func(address, link string) {
			if address == "" {
				fmt.Fprintf(m.Stderr, "tandem: running without an endpoint, so that no editor reaches this process: %s.\n"+
					"Ctrl-C stops it; until then `tandem run` and the other commands use it, and the menu, the window and `tandem settings set port=N` move it.\n", a.State().Error)
				return
			}
			fmt.Fprintf(m.Stdout, "%s\n%s\n", address, link)
			fmt.Fprint(m.Stderr, "The second line of standard output is a link to the page, good once and for a minute; `tandem open` makes another.\n"+
				"Ctrl-C stops.\n")
		},
		Loaded: func(err error) {
			stop()
			state := a.State()
			switch {
			case err != nil:
				fmt.Fprintf(m.Stderr, "tandem: %s cannot be served: %v\n"+
					"Until it can, requests for it get this error. To serve another, press Ctrl-C, then `tandem serve --model ID` "+
					"(`tandem models` lists them) or `tandem serve --model pocket`, the one that comes with the program.\n", state.Choice, err)
			case state.Address != "":
				fmt.Fprintf(m.Stderr, "Serving %s. In an editor: base URL %s/v1, model %s, any API key.\n", state.Choice, state.Address, control.Alias)
			}
		},
		Draining: func(requests int) {
			fmt.Fprintf(m.Stderr, "tandem: finishing %s, for some seconds at most; press Ctrl-C again to stop at once\n", plural(requests, "request"))
		},
	})
	stop()
	return errors.Join(err, a.Close())
}

// lockPatience is how long a supervised process waits for the one before it, which
// drains, to let go of the home folder.
const lockPatience = 10 * time.Second

func isLocked(err error) bool {
	_, locked := errors.AsType[*home.LockedError](err)
	return locked
}
