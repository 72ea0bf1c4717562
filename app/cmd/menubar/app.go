//go:build desktop

package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/menu"
	"tandem/app/supervise"
)

// A screen draws the menu. mark sets a row's mark again, because a click may have changed it.
type screen interface {
	menu.Surface
	mark(menu.Slot, menu.Row)
}

// An app keeps the menu, the serving process and the window together.
type app struct {
	o          options
	tray       screen
	client     *control.Client
	supervisor *supervise.Supervisor
	quit       context.CancelFunc

	login    func() menu.Login // what the system says
	setLogin func(on bool) error

	window window

	mu    sync.Mutex
	view  menu.View
	shown *menu.Menu
	title menu.Title
	reads menu.Reading
	later *time.Timer // draws the title that is held back; nil before the first

	depths map[string]*int // what was set of models before the menu turned their drafts off; lost with the menu

	todayPause time.Duration // between two looks at the figures of today
}

// newApp returns an app. Its menu shows the failure first, unless it is nil.
func newApp(o options, failure error) *app {
	a := &app{
		o: o, client: control.Dial(o.home), login: login, setLogin: setLogin,
		window: window{program: o.window, home: o.home, log: o.log}, shown: new(menu.Menu),
		depths: map[string]*int{}, todayPause: todayPause,
	}
	if failure != nil {
		a.view.Failure = failure.Error()
	}
	a.supervisor = supervise.New(supervise.Options{
		Home: o.home, Program: o.program, Args: o.args, Stderr: os.Stderr, Logger: o.log,
		Changed: a.supervised,
	})
	return a
}

// change applies f to the view and draws the rows that differ.
func (a *app) change(f func(*menu.View)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(&a.view)
	next := menu.Of(a.shown, a.view)
	var wait time.Duration
	a.title, wait = a.title.Next(time.Now(), next.Title)
	next.Title = a.title.Text
	if a.later != nil {
		a.later.Stop()
	}
	if wait > 0 {
		a.later = time.AfterFunc(wait, func() { a.change(func(*menu.View) {}) })
	}
	menu.Draw(a.tray, a.shown, next)
	a.shown = next
}

func (a *app) supervised(s supervise.Status) {
	a.change(func(v *menu.View) {
		v.Crashed = ""
		if s.Phase == supervise.Crashed {
			v.Crashed = s.Reason
		}
	})
}

// run supervises the server and follows its state until ctx ends or Quit is chosen. It returns
// after the server has ended.
func (a *app) run(ctx context.Context, d *supervise.InstanceLock) error {
	ctx, a.quit = context.WithCancel(ctx)
	defer a.quit()
	defer a.client.Close()
	var running sync.WaitGroup
	show := func() {
		if err := a.window.open(""); err != nil {
			a.change(func(v *menu.View) { v.Failure = err.Error() })
		}
	}
	running.Go(func() {
		if err := d.Serve(supervise.ControlHandler{Supervisor: a.supervisor, Show: show, ToShow: a.window.toShow,
			Login: a.atLogin, SetLogin: a.setAtLogin}); err != nil {
			a.o.log.Error("neither a second start nor the window reaches the menu", "error", err)
		}
	})
	news := make(chan struct{}, 1)
	running.Go(func() { a.follow(ctx, news) })
	running.Go(func() { a.followToday(ctx, news) })
	context.AfterFunc(ctx, func() { d.Close() })
	if err := onReopen(show); err != nil {
		a.o.log.Warn("a second start from the Finder shows no window", "error", err)
	}
	a.change(func(v *menu.View) { v.Login = a.loginState() })
	if !a.o.atLogin && !control.StartsHidden(a.o.home) {
		show()
	}
	err := a.supervisor.Run(ctx)
	a.quit()
	running.Wait()
	a.window.close()
	return err
}

// follow shows the state of the serving process until ctx ends. It sends news when the requests in
// flight have become other ones.
func (a *app) follow(ctx context.Context, news chan<- struct{}) {
	const again = 200 * time.Millisecond // after a call without an answer
	var before []control.Active
	for ctx.Err() == nil {
		for st, err := range a.client.Watch(ctx) {
			if err != nil {
				break
			}
			a.change(func(v *menu.View) {
				v.State, v.Left = &st, a.reads.Left(time.Now(), st.Active)
			})
			if before == nil || !slices.EqualFunc(before, st.Active,
				func(x, y control.Active) bool { return x.RunID == y.RunID }) {
				select {
				case news <- struct{}{}:
				default: // some wait already
				}
			}
			before = st.Active
		}
		before = nil
		a.change(func(v *menu.View) { v.State = nil })
		select {
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
}

// The figures of today are asked for after each request that has ended, but not more often than
// todayPause, and once in todayEvery, since a day ends too.
const (
	todayPause = 5 * time.Second
	todayEvery = 10 * time.Minute
)

// followToday shows the figures of today until ctx ends.
func (a *app) followToday(ctx context.Context, news <-chan struct{}) {
	for {
		select {
		case <-news:
		case <-time.After(todayEvery):
		case <-ctx.Done():
			return
		}
		if of, err := control.Ask(ctx, a.client, control.GetInsights); err == nil { // otherwise nothing answers
			a.change(func(v *menu.View) { v.Today = &of.Today })
		}
		select {
		case <-time.After(a.todayPause):
		case <-ctx.Done():
			return
		}
	}
}

// setDrafting turns all drafts of a model off, or on again with the depth that was set before.
func (a *app) setDrafting(ctx context.Context, id string, on bool) error {
	a.mu.Lock()
	depth := a.depths[id]
	a.mu.Unlock()
	before, err := a.client.SetDrafting(ctx, id, on, depth)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if on {
		delete(a.depths, id)
	} else if before == nil || *before > 0 { // a second click finds 0
		a.depths[id] = before
	}
	return nil
}

// clicked carries out a row's action.
func (a *app) clicked(s menu.Slot) {
	a.mu.Lock()
	row := a.shown.Rows[s]
	a.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	switch row.Do {
	case menu.Copy:
		err = copyText(ctx, row.About)
	case menu.Load:
		_, err = control.Call(ctx, a.client, control.LoadModel,
			control.LoadRequest{Model: row.About})
	case menu.UnloadModel:
		_, err = control.Call(ctx, a.client, control.UnloadModel,
			control.UnloadRequest{Model: row.About})
	case menu.SetDrafting:
		err = a.setDrafting(ctx, row.About, !row.Checked)
	case menu.SetPort:
		port, _ := strconv.Atoi(row.About) // empty is 0
		_, err = control.Call(ctx, a.client, control.SetPort, control.PortRequest{Port: port})
	case menu.StopRuns:
		err = a.stop(ctx, row.About)
	case menu.OpenWindow:
		err = a.window.open(row.About)
	case menu.SetLogin:
		err = a.setLogin(!row.Checked)
	case menu.Restart:
		a.supervisor.Again()
	case menu.Leave:
		a.quit()
	}
	a.change(func(v *menu.View) {
		v.Failure, v.Login = "", a.loginState()
		if err != nil {
			v.Failure = err.Error()
		}
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if row := a.shown.Rows[s]; row.Shown { // on Linux a mark would show a hidden row
		a.tray.mark(s, row)
	}
}

// stop ends requests in flight, by their runs' ids. One that has ended meanwhile is not an error.
func (a *app) stop(ctx context.Context, ids string) (failure error) {
	for _, text := range strings.Fields(ids) {
		_, err := control.Call(ctx, a.client, control.CancelRun, control.CancelRequest{Run: text})
		if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeRunNotFound {
			err = nil
		}
		failure = errors.Join(failure, err)
	}
	return failure
}

// loginState reports whether Tandem starts at login. Where the bundle does not stay, a person
// cannot choose that.
func (a *app) loginState() menu.Login {
	if a.o.location != supervise.Installed {
		return menu.LoginUnknown
	}
	return a.login()
}

// atLogin returns loginState in the form of the window's page.
func (a *app) atLogin() control.AtLogin {
	state := a.loginState()
	return control.AtLogin{Known: state != menu.LoginUnknown, On: state == menu.LoginOn}
}

// setAtLogin changes the start at login for the window's page, as the menu's row does.
func (a *app) setAtLogin(on bool) error {
	if a.loginState() == menu.LoginUnknown {
		return errors.New("Tandem must lie in a folder of applications to start at login")
	}
	err := a.setLogin(on)
	a.change(func(v *menu.View) { v.Login = a.loginState() })
	return err
}
