package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/terminal"
	"tandem/models/starter"
)

// home returns the folder that holds everything Tandem keeps.
func (m *Main) home() string { return control.Home(m.Getenv) }

// options returns what the environment says.
func (m *Main) options(log *slog.Logger) app.Options {
	o := app.FromEnvironment(m.Getenv)
	o.Program, o.Version = terminal.Executable(), m.Version
	o.UpdateFeed, o.IssuePage = updateFeed, issuePage
	o.Starter = starter.Beside(o.Program)
	o.Logger, o.Hub.Logger = log, log
	return o
}

// updateFeed is the URL of the update feed, and issuePage the URL of the issue form. A build sets them
// with -X main.updateFeed=URL. If empty, Tandem checks for no updates and shows no link.
var updateFeed, issuePage string

// startLimit is how long a process that holds the lock may take to answer.
const startLimit = 5 * time.Second

// withServer calls fn with a client of the process that serves the home folder. If there is none,
// this process serves the socket until fn returns.
func (m *Main) withServer(ctx context.Context, fn func(*control.Client) error) error {
	return m.withServerOf(ctx, "", fn)
}

// asking returns the RunE of a verb that calls the process that serves the home folder: see withServer.
func (m *Main) asking(fn func(ctx context.Context, c *control.Client, args []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		return m.withServer(cmd.Context(), func(c *control.Client) error { return fn(cmd.Context(), c, args) })
	}
}

// served is asking for a verb that works only while a process serves the home folder: it starts nothing.
func (m *Main) served(fn func(ctx context.Context, c *control.Client) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		c := control.Dial(m.home())
		defer c.Close()
		return fn(cmd.Context(), c)
	}
}

// withServerOf is withServer where the models of this process have the bits of a flag.
func (m *Main) withServerOf(ctx context.Context, bits kvBitsFlag, fn func(*control.Client) error) error {
	client := control.Dial(m.home())
	defer client.Close()
	deadline := time.Now().Add(startLimit)
	for {
		state, err := control.Ask(ctx, client, control.GetState)
		if err == nil && state.Phase != control.PhaseDraining {
			return fn(client)
		}
		if err != nil && !control.NotRunning(err) {
			return err
		}
		o := m.options(m.Logger(false))
		bits.decide(&o)
		a, err := app.Open(ctx, o)
		if err == nil {
			return m.serveWhile(ctx, a, func() error { return fn(client) })
		}
		// Another process may have taken the lock a moment ago and not answer yet.
		if !isLocked(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// serveWhile serves the socket of a while fn runs. It then waits for the requests that other
// programs have in flight here, and closes a.
func (m *Main) serveWhile(ctx context.Context, a *app.App, fn func() error) error {
	stop := make(chan struct{})
	ready := make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- a.Serve(ctx, app.ServeOptions{Stop: stop,
			Ready: func(string, string) { close(ready) }})
	}()
	var err error
	select {
	case <-ready:
		err = fn()
		close(stop)
		patience := time.AfterFunc(time.Second, func() {
			if ctx.Err() != nil {
				return // requests are being ended; one may be fn's own
			}
			m.Say("done, but other programs have requests in flight here; waiting for them. Ctrl-C ends them")
		})
		err = errors.Join(err, <-served)
		patience.Stop()
	case err = <-served:
	}
	return errors.Join(err, a.Close())
}
