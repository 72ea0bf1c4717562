package main

import (
	"context"
	"errors"
	"fmt"

	"tandem/app"
	"tandem/app/control"
	"tandem/frontend"
)

// errStarted ends the watch over the first load.
var errStarted = errors.New("started")

func serve(ctx context.Context, m *Main, args []string) error {
	f := m.flags("serve")
	addr := f.String("addr", app.DefaultAddr, "loopback address and port; port 0 picks one")
	model := f.String("model", "", "folder or id of the model to serve (default: the last one)")
	length := f.Int("context", 0, "context length in tokens (default: the model's)")
	dtype := f.String("dtype", "auto", "auto, float32 or checkpoint")
	verbose := f.Bool("verbose", false, "log more")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if *length < 0 {
		return mistake(f, "--context must be at least 0")
	}
	o := m.options(m.logger(*verbose))
	o.Model, o.ContextLength, o.Dtype = *model, *length, *dtype
	a, err := app.Open(ctx, o)
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
		Addr: *addr, Preload: true, Pages: frontend.Files(),
		Ready: func(address, link string) {
			if address == "" {
				fmt.Fprintln(m.Stderr, "tandem: no endpoint was opened; the control socket answers")
				return
			}
			fmt.Fprintf(m.Stdout, "%s\n%s\n", address, link)
			fmt.Fprintf(m.Stderr, "Serving %s. In an editor: base URL %s/v1, model %s, any API key.\n"+
				"The second line is a link to the page, good once and for a minute; `tandem open` makes another.\n"+
				"Ctrl-C stops.\n", a.State().Choice, address, control.Alias)
		},
		Draining: func(requests int) {
			fmt.Fprintf(m.Stderr, "tandem: finishing %s, for some seconds at most; press Ctrl-C again to stop at once\n", plural(requests, "request"))
		},
	})
	stop()
	return errors.Join(err, a.Close())
}
