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
	toShow := func() string { return supervise.ToShow(ctx, menu) }
	if !follow {
		toShow = func() string { return "" }
		s := supervise.New(supervise.Options{
			Home: home, Program: program, Args: args, Stderr: os.Stderr,
			Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		handler = s.Page(server)
		running.Go(func() { crash = s.Run(ctx) })
	}
	err := show(handler, placeFile(home), toShow)
	end()
	running.Wait()
	return errors.Join(err, crash)
}

// pageLimit is how long the end waits for the page to load.
const pageLimit = 5 * time.Second

// show runs the window until it is closed. A request for anything but a file of the interface goes
// to the handler. The window opens where the last one was, by the file. It shows what toShow says, each
// time when it is asked to.
//
// A signal ends the window, once: Wails may not be told to quit a second time while it quits. The
// quit waits for the page, because Wails does not hear it before its loop runs. Wails listens for
// the same signals; both may do so.
func show(handler http.Handler, file string, toShow func() string) error {
	asked, ended, ready := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(asked, syscall.SIGUSR2)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(asked)
	defer signal.Stop(ended)
	var once sync.Once
	at := readPlace(file)
	w := &window{file: file, at: at}
	app := &options.App{
		Title: "Tandem", Width: at.Width, Height: at.Height, MinWidth: minWidth,
		MinHeight:   minHeight,
		AssetServer: &assetserver.Options{Assets: frontend.Files(), Handler: handler},
		DragAndDrop: &options.DragAndDrop{EnableFileDrop: true},
		OnDomReady: func(context.Context) {
			once.Do(func() {
				close(ready)
				go w.show(toShow())
			})
		},
		OnStartup: func(ctx context.Context) {
			w.open(ctx)
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
						select {
						case <-ready:
							w.show(toShow())
						default: // OnDomReady does
						}
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
		OnBeforeClose: w.close,
	}
	if err := asOnMac(app, w); err != nil {
		return err
	}
	return wails.Run(app)
}
