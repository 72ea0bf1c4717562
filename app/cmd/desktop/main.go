//go:build desktop

// Command desktop is Tandem's window. It shows the interface of package frontend in the system's
// web view, by Wails. It starts when a person wants to look and ends with the window, and then
// frees its memory.
//
// The page's requests go over the control socket, so that it needs no session. Started alone, the
// program supervises `tandem serve` as the menu bar does. The menu bar starts it with --follow.
// Then it starts no server, and the menu bar's socket tells it what the server does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/runtime"

	"tandem/app/control"
	"tandem/app/supervise"
	"tandem/frontend"
)

func main() {
	self := os.Args[0]
	if path, err := os.Executable(); err == nil {
		self = path
	}
	program := flag.String("program", supervise.Beside(self).Tandem, "the `tandem` to serve with")
	follow := flag.Bool("follow", false, "start no server: the menu bar does")
	flag.Parse()
	if err := run(*program, *follow, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "tandem:", err)
		os.Exit(1)
	}
}

func run(program string, follow bool, args []string) error {
	home := control.Home(os.Getenv)
	server, menu := control.Dial(home), control.DialMenu(home)
	defer server.Close()
	defer menu.Close()

	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var crash error
	handler := supervise.PageOf(menu, server)
	if !follow {
		s := supervise.New(supervise.Options{
			Home: home, Program: program, Args: args, Stderr: os.Stderr,
			Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		handler = s.Page(server)
		running.Go(func() { crash = s.Run(ctx) })
	}
	err := show(handler)
	end()
	running.Wait()
	return errors.Join(err, crash)
}

// pageLimit is how long the end waits for the page to load.
const pageLimit = 5 * time.Second

// show runs the window until it is closed. A request for anything but a file of the interface goes
// to the handler.
//
// A signal ends the window, once: Wails may not be told to quit a second time while it quits. The
// quit waits for the page, because Wails does not hear it before its loop runs. Wails listens for
// the same signals; both may do so.
func show(handler http.Handler) error {
	asked, ended, ready := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(asked, syscall.SIGUSR2)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(asked)
	defer signal.Stop(ended)
	var once sync.Once
	return wails.Run(&options.App{
		Title: "Tandem", Width: 1120, Height: 760, MinWidth: 640, MinHeight: 480,
		AssetServer: &assetserver.Options{Assets: frontend.Files(), Handler: handler},
		OnDomReady:  func(context.Context) { once.Do(func() { close(ready) }) },
		OnStartup: func(ctx context.Context) {
			signal.Reset(os.Interrupt, syscall.SIGTERM) // those of Wails
			signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
			if err := letSystemQuit(); err != nil {
				fmt.Fprintln(os.Stderr, "tandem:", err)
			}
			go func() {
				for {
					select {
					case <-asked:
						runtime.WindowUnminimise(ctx)
						runtime.WindowShow(ctx)
					case <-ended:
						select {
						case <-ready:
						case <-time.After(pageLimit):
						}
						runtime.Quit(ctx)
						return
					}
				}
			}()
		},
	})
}
