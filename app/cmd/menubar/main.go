//go:build desktop

// Command menubar is Tandem.app's main executable: the icon in the menu bar, and the supervisor of
// `tandem serve`. It links no MLX, so that a fault of the engine does not end the menu.
//
// Getlantern/systray draws the menu and runs the system's own event loop. Package menu decides what
// the menu shows.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/getlantern/systray"

	"tandem/app/control"
	"tandem/app/supervise"
	"tandem/app/terminal"
)

func main() {
	self := cmp.Or(terminal.Executable(), os.Args[0])
	beside, bundle := supervise.Beside(self), supervise.Bundle(self)
	o := options{
		home: control.Home(os.Getenv), log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		bundle: bundle, location: supervise.LocationOf(bundle, control.UserHome(os.Getenv)),
	}
	flag.StringVar(&o.program, "program", beside.Tandem, "the `tandem` to serve with")
	flag.StringVar(&o.window, "window", beside.Window, "the window's `program`")
	flag.BoolVar(&o.atLogin, "login", false,
		"open no window, as when the system starts this at login")
	flag.BoolVar(&o.opened, supervise.OpenedFlag, false,
		"set by the login agent when it opens the app, to prevent a loop")
	flag.Parse()
	o.args = flag.Args()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "tandem:", err)
		os.Exit(1)
	}
}

// options are the options of the menu bar.
type options struct {
	home            string
	program, window string   // paths of executables
	args            []string // of serve
	atLogin, opened bool     // flags -login and -opened
	bundle          string   // path of Tandem.app; empty where this runs by itself
	location        supervise.Location
	log             *slog.Logger
}

func run(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	lock, err := supervise.LockInstance(o.home, !o.atLogin)
	if errors.Is(err, supervise.ErrRunning) {
		return nil // it was asked to show its window, unless this is a start at login
	}
	if err != nil {
		return err
	}
	if o.bundle != "" && supervise.IsLoginAgent(o.opened, os.Getenv) {
		return errors.Join(lock.Close(), supervise.OpenAtLogin(o.bundle, os.Environ()).Run())
	}
	var failure error
	if !o.atLogin {
		moved, err := o.relocator().Offer()
		if moved {
			return errors.Join(err, lock.Close())
		}
		if failure = err; err != nil {
			o.log.Error("offering to move Tandem to Applications", "error", err)
		}
	}
	// SIGUSR2 would end a window that has just started. A child also ignores a signal that its
	// parent ignores, until it installs a handler.
	signal.Ignore(showSignal)
	a := newApp(o, failure)
	ended := make(chan error, 1)
	systray.Run(func() {
		a.tray = newTray(a.clicked)
		go func() {
			err := a.run(ctx, lock)
			if err != nil && runtime.GOOS == "darwin" { // Quit does not return there
				fmt.Fprintln(os.Stderr, "tandem:", err)
				os.Exit(1)
			}
			ended <- err
			systray.Quit()
		}()
	}, a.window.close) // the system can end the menu too, and then a.run does not close the window
	return <-ended
}
