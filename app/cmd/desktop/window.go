//go:build desktop

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"

	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/mac"
	"github.com/wailsapp/wails/v2/pkg/runtime"

	"tandem/frontend"
)

// The events that the page hears.
const (
	actionEvent  = "action"         // with the id of a shortcut
	droppedEvent = "models-dropped" // with paths
)

// A window is the window while it runs. Its fields are set before the page is ready, and do not
// change then.
type window struct {
	file string
	at   place
	ctx  context.Context // of Wails; nil before the start
}

// open puts the window to its place, and listens for dropped files.
func (w *window) open(ctx context.Context) {
	w.ctx = ctx
	screens := screensOf(ctx)
	if p := w.at.fit(screens); p != w.at {
		runtime.WindowSetSize(ctx, p.Width, p.Height)
	}
	switch {
	case w.at.Known && w.at.Largest:
		runtime.WindowMaximise(ctx)
	case w.at.Known && w.at.on(screens):
		runtime.WindowSetPosition(ctx, w.at.X, w.at.Y)
	}
	runtime.OnFileDrop(ctx, func(_, _ int, paths []string) {
		if models := droppedModels(paths); len(models) > 0 {
			runtime.EventsEmit(ctx, droppedEvent, models)
		}
	})
}

// close keeps the place of the window. It never prevents the end.
func (w *window) close(ctx context.Context) bool {
	if runtime.WindowIsMinimised(ctx) {
		return false
	}
	if w.at.Largest = runtime.WindowIsMaximised(ctx) || runtime.WindowIsFullscreen(ctx); !w.at.Largest {
		w.at.Width, w.at.Height = runtime.WindowGetSize(ctx)
		w.at.X, w.at.Y = runtime.WindowGetPosition(ctx)
	}
	if err := w.at.write(w.file); err != nil {
		fmt.Fprintln(os.Stderr, "tandem: the window's place is not kept:", err)
	}
	return false
}

// act has the page do an action.
func (w *window) act(id string) {
	if w.ctx != nil {
		runtime.EventsEmit(w.ctx, actionEvent, id)
	}
}

// show leads the page to an address such as #/now, or has it do an action. With an empty text it
// does nothing.
func (w *window) show(what string) {
	switch {
	case what == "" || w.ctx == nil:
	case strings.HasPrefix(what, "#"):
		address, _ := json.Marshal(what) // a text has no error
		runtime.WindowExecJS(w.ctx, "location.hash = "+string(address))
	default:
		w.act(what)
	}
}

// end closes the window.
func (w *window) end() {
	if w.ctx != nil {
		runtime.Quit(w.ctx)
	}
}

// screensOf returns the sizes of all screens, none if the system does not say.
func screensOf(ctx context.Context) (list []screen) {
	all, err := runtime.ScreenGetAll(ctx)
	if err != nil {
		return nil
	}
	for _, s := range all {
		list = append(list, screen{s.Size.Width, s.Size.Height})
	}
	return list
}

// asOnMac gives the window what windows of a Mac have: a title bar that is not drawn, a sidebar
// that is translucent, and the menu. Other systems keep their own title bar.
func asOnMac(app *options.App, w *window) error {
	if goruntime.GOOS != "darwin" {
		return nil
	}
	list, err := readShortcuts(frontend.Shortcuts())
	if err != nil {
		return err
	}
	if app.Menu, err = newMenu(list, w.act, w.end); err != nil {
		return err
	}
	app.BackgroundColour = options.NewRGBA(0, 0, 0, 0)
	app.Mac = &mac.Options{TitleBar: mac.TitleBarHiddenInset(), WebviewIsTransparent: true,
		WindowIsTranslucent: true, DisableEscapeExitsFullscreen: true}
	return nil
}
