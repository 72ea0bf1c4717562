//go:build desktop

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/control"
	"tandem/app/menu"
	"tandem/app/supervise"
)

// A recorder is a screen that keeps what it shows.
type recorder struct {
	mu     sync.Mutex
	title  string
	rows   [menu.Slots]menu.Row
	marked map[menu.Slot]bool // what mark said last
}

func (r *recorder) SetIcon(menu.Icon) {}
func (r *recorder) SetTooltip(string) {}
func (r *recorder) SetTitle(s string) { r.set(func() { r.title = s }) }

func (r *recorder) SetRow(s menu.Slot, _, after menu.Row) { r.set(func() { r.rows[s] = after }) }

func (r *recorder) mark(s menu.Slot, row menu.Row) { r.set(func() { r.marked[s] = row.Checked }) }

func (r *recorder) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *recorder) row(s menu.Slot) (row menu.Row) {
	r.set(func() { row = r.rows[s] })
	return row
}

// until waits until a row has the title.
func (r *recorder) until(t *testing.T, s menu.Slot, title string) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); r.row(s).Title != title; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("row %d says %q, want %q", s, r.row(s).Title, title)
		}
	}
}

// newTestApp returns an app on a recorder. Nothing runs in it.
func newTestApp(t *testing.T, o options) (*app, *recorder) {
	t.Helper()
	if o.home == "" {
		o.home = t.TempDir()
	}
	o.log = slog.New(slog.DiscardHandler)
	a, r := newApp(o, nil), &recorder{marked: map[menu.Slot]bool{}}
	a.tray = r
	t.Cleanup(a.client.Close)
	return a, r
}

// serve answers on the control socket of a home folder.
func serve(t *testing.T, home string, h http.HandlerFunc) {
	t.Helper()
	l, err := control.Listen(home)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
}

// example returns a state that shows every row with a request to the server.
func example() *control.State {
	return &control.State{
		Phase: control.PhaseReady, Choice: "org/a", Address: "http://127.0.0.1:8263",
		Models:    []control.Choosable{{ID: "org/a"}, {ID: "org/b"}},
		Loaded:    &control.Loaded{ID: "org/a", Drafter: "dflash"},
		InMemory:  []control.Loaded{{ID: "org/a", Drafting: control.DraftingOn}},
		Active:    []control.Active{{RunID: 7}, {RunID: 9}},
		PortTaken: &control.PortTaken{Port: 8263, Owner: "another", Next: 8264},
	}
}

// A click sends the request of its row, and no other. A refusal stays in the menu until the next
// click.
func TestClickSendsItsRequest(t *testing.T) {
	type asked struct{ Route, Body string }
	var requests []asked
	refuse := false
	a, r := newTestApp(t, options{})
	serve(t, a.o.home, func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		if req.Method == http.MethodGet { // what is set so far
			fmt.Fprintf(w, `{"settings":{"model":%q,"depth":4,"keep_loaded":true}}`,
				req.URL.Query().Get("model"))
			return
		}
		requests = append(requests, asked{req.Method + " " + req.URL.Path, string(body)})
		if refuse {
			control.WriteError(w, control.Errorf(control.CodeModelBusy, "It is in use."))
			return
		}
		fmt.Fprint(w, "{}")
	})
	without := example()
	without.InMemory[0].Drafting = control.DraftingOff
	for _, c := range []struct {
		name  string
		slot  menu.Slot
		state *control.State
		want  asked
	}{
		{"load", menu.Models, example(), asked{"POST /app/load", `{"model":"org/b"}`}},
		{"unload", menu.Residents + menu.Unload, example(), asked{"POST /app/unload", `{"model":"org/a"}`}},
		{"drafts off", menu.Residents + menu.DraftAhead, example(), asked{"POST /app/model-settings", `{"model":"org/a","depth":0,"keep_loaded":true}`}},
		{"stop one", menu.Requests + menu.StopRun, example(), asked{"POST /app/runs/7/cancel", "{}"}},
		{"the port again", menu.TryPort, example(), asked{"POST /app/port", `{}`}},
		{"another port", menu.UsePort, example(), asked{"POST /app/port", `{"port":8264}`}},
	} {
		a.change(func(v *menu.View) { v.State = c.state })
		for _, refuse = range []bool{true, false} {
			requests = nil
			clear(r.marked)
			a.clicked(c.slot)
			if len(requests) != 1 || requests[0] != c.want {
				t.Errorf("%s: asked for %+v, want %+v", c.name, requests, c.want)
			}
			if got := r.row(menu.Problem); got.Shown != refuse || refuse &&
				got.Title != "It is in use." {
				t.Errorf("%s: the problem is %+v", c.name, got)
			}
			if got, ok := r.marked[c.slot]; !ok || got != r.row(c.slot).Checked {
				t.Errorf("%s: the mark is %t, %t; the row %+v", c.name, got, ok, r.row(c.slot))
			}
		}
	}
}

// Speculative Decoding sets the depth again that it has turned off, and nothing where a person was
// faster.
func TestDraftAheadKeepsTheDepth(t *testing.T) {
	var set *int // the depth of the model
	var posted int
	a, _ := newTestApp(t, options{})
	serve(t, a.o.home, func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			var s control.ModelSettings
			if err := json.NewDecoder(req.Body).Decode(&s); err != nil || s.Model != "org/a" || !s.KeepLoaded {
				t.Errorf("set %+v, %v", s, err)
			}
			set, posted = s.Depth, posted+1
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(control.ModelSettingsState{
			Settings: control.ModelSettings{Model: "org/a", Depth: set, KeepLoaded: true}})
	})
	for _, c := range []struct {
		name string
		to   *int // what a person sets in the window; nil if nothing
		on   bool
		want *int
		more int // posts
	}{
		{"on, and it was never off", nil, true, nil, 0},
		{"off", new(4), false, new(0), 1},
		{"a second click", nil, false, new(0), 0},
		{"on again", nil, true, new(4), 1},
		{"off once more", nil, false, new(0), 1},
		{"on in the window", new(6), true, new(6), 0},
		{"off in the window", new(0), true, nil, 1},
	} {
		if c.to != nil {
			set = c.to
		}
		before := posted
		a.change(func(v *menu.View) {
			if v.State = example(); c.on {
				v.State.InMemory[0].Drafting = control.DraftingOff
			}
		})
		a.clicked(menu.Residents + menu.DraftAhead)
		if posted-before != c.more || (set == nil) != (c.want == nil) || set != nil && *set != *c.want {
			t.Errorf("%s: %d posts, and the depth is %v", c.name, posted-before, set)
		}
	}
}

// Stop All stops each request. One that has ended meanwhile is not an error, and a row that went
// away with its request gets no mark, which would show it.
func TestStopAllStopsEachRequest(t *testing.T) {
	var stopped []string
	a, r := newTestApp(t, options{})
	serve(t, a.o.home, func(w http.ResponseWriter, req *http.Request) {
		stopped = append(stopped, req.URL.Path)
		if len(stopped) == 1 {
			control.WriteError(w, control.Errorf(control.CodeRunNotFound, "It has ended."))
			return
		}
		a.change(func(v *menu.View) { v.State.Active = nil })
		fmt.Fprint(w, "{}")
	})
	a.change(func(v *menu.View) { v.State = example() })
	a.clicked(menu.StopAll)
	if want := []string{"/app/runs/7/cancel", "/app/runs/9/cancel"}; !slices.Equal(stopped, want) {
		t.Errorf("stopped %q, want %q", stopped, want)
	}
	if got, ok := r.marked[menu.StopAll]; ok || r.row(menu.Problem).Shown {
		t.Errorf("the row is marked %t, the problem %+v", got, r.row(menu.Problem))
	}
}

// A request ends while its submenu is open. A click there stops no other one.
func TestClickAfterItsRequestStopsNoOther(t *testing.T) {
	var stopped []string
	a, _ := newTestApp(t, options{})
	serve(t, a.o.home, func(w http.ResponseWriter, req *http.Request) {
		stopped = append(stopped, req.URL.Path)
		fmt.Fprint(w, "{}")
	})
	a.change(func(v *menu.View) { v.State = example() })
	a.change(func(v *menu.View) {
		next := example()
		next.Active = next.Active[1:]
		v.State = next
	})
	a.clicked(menu.Requests + menu.StopRun)
	if len(stopped) > 0 {
		t.Errorf("stopped %q", stopped)
	}
	a.clicked(menu.Requests + 3 + menu.StopRun) // the second request's
	if !slices.Equal(stopped, []string{"/app/runs/9/cancel"}) {
		t.Errorf("stopped %q", stopped)
	}
}

// The figures of today are asked for when a server answers, and again after a request. News of other
// kinds asks for none.
func TestTodayFollowsTheRequests(t *testing.T) {
	a, r := newTestApp(t, options{})
	a.todayPause = 0
	var asked atomic.Int32
	says := make(chan string)
	serve(t, a.o.home, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/app/insights" {
			fmt.Fprintf(w, `{"today":{"requests":%d,"drafts_ms":61000}}`, asked.Add(1))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case text := <-says:
				fmt.Fprintf(w, "data: %s\n\n", text)
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
			case <-req.Context().Done():
				return
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	news := make(chan struct{}, 1)
	var running sync.WaitGroup
	running.Go(func() { a.follow(ctx, news) })
	running.Go(func() { a.followToday(ctx, news) })
	says <- `{"rev":1,"phase":"ready","address":"http://127.0.0.1:8263","active":[{"run_id":7,"client":"zed/1"}]}`
	r.until(t, menu.Today, "Today: 1 request, 61 s saved")
	says <- `{"rev":2,"active":[{"run_id":7,"client":"zed/1","completion_tokens":3}]}`
	r.until(t, menu.Requests, "Zed: writing")
	says <- `{"rev":3,"active":[{"run_id":7,"client":"zed/1","completion_tokens":3,"per_second":9}]}`
	r.until(t, menu.Requests, "Zed: writing, 9 tokens/s")
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times during a request", n)
	}
	says <- `{"rev":4,"active":[]}`
	r.until(t, menu.Today, "Today: 2 requests, 61 s saved")
	cancel()
	running.Wait()
}

// A speed stays for its second, even if another follows within it. Then the last one is drawn,
// without a further event.
func TestTitleKeepsASpeedForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, r := newTestApp(t, options{})
		speed := func(perSecond float64) {
			a.change(func(v *menu.View) {
				v.State = &control.State{Phase: control.PhaseReady, MenuSpeed: true,
					Active: []control.Active{{PerSecond: perSecond, CompletionTokens: 9}}}
			})
		}
		speed(40)
		for _, next := range []float64{41, 42} {
			time.Sleep(300 * time.Millisecond)
			if speed(next); r.title != "40 t/s" {
				t.Errorf("%v: %q", next, r.title)
			}
		}
		time.Sleep(500 * time.Millisecond)
		if synctest.Wait(); r.title != "42 t/s" {
			t.Errorf("the last one: %q", r.title)
		}
		if a.change(func(v *menu.View) { v.State = nil }); r.title != "" {
			t.Errorf("without any: %q", r.title)
		}
	})
}

// The click toggles the system's login item, but only where Tandem stays.
func TestLoginClickTogglesTheSystemsItem(t *testing.T) {
	a, r := newTestApp(t, options{location: supervise.Installed})
	state, failure := menu.LoginOff, error(nil)
	a.login = func() menu.Login { return state }
	a.setLogin = func(on bool) error {
		if state = menu.LoginOff; on {
			state = menu.LoginOn
		}
		return failure
	}
	a.change(func(v *menu.View) { v.Login = a.loginState() })
	for _, want := range []bool{true, false} {
		a.clicked(menu.AtLogin)
		if row := r.row(menu.AtLogin); row.Checked != want || r.marked[menu.AtLogin] != want ||
			(state == menu.LoginOn) != want {
			t.Errorf("%+v, marked %t, the system says %q", row, r.marked[menu.AtLogin], state)
		}
	}
	failure = errors.New("the system says no")
	a.clicked(menu.AtLogin)
	if row := r.row(menu.Problem); row.Title != failure.Error() {
		t.Errorf("the problem is %+v", row)
	}
	failure = nil
	for _, want := range []bool{true, false} { // by the window's page
		if err := a.setAtLogin(want); err != nil ||
			a.atLogin() != (control.AtLogin{Known: true, On: want}) ||
			r.row(menu.AtLogin).Checked != want {
			t.Errorf("%+v, %v, the row %+v", a.atLogin(), err, r.row(menu.AtLogin))
		}
	}
	a.o.location = supervise.Translocated
	if err := a.setAtLogin(true); err == nil || state != menu.LoginOff ||
		a.loginState() != menu.LoginUnknown || a.atLogin().Known {
		t.Errorf("where it does not stay: %v, the system says %q, the menu %q",
			err, state, a.loginState())
	}
}

// tool writes a shell program into a folder and returns its path.
func tool(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// The first tool that works gets the address unchanged. If none works, the menu says so.
func TestCopyUsesTheFirstToolThatWorks(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	cat := "exec /bin/cat" // PATH has the tools alone
	t.Setenv("PATH", dir)
	a, r := newTestApp(t, options{})
	a.change(func(v *menu.View) { v.State = example() })
	a.clicked(menu.Endpoint)
	if got := r.row(menu.Problem).Title; !strings.Contains(got, "nothing could be copied") {
		t.Errorf("without a tool: %q", got)
	}
	tool(t, dir, "wl-copy", "exit 1") // as where there is another display
	tool(t, dir, "xclip", fmt.Sprintf(`echo "$@" >'%s'; %s >>'%s'`, out, cat, out))
	a.clicked(menu.Endpoint)
	if text, err := os.ReadFile(out); err != nil ||
		string(text) != "-selection clipboard\nhttp://127.0.0.1:8263/v1" {
		t.Errorf("copied %q, %v", text, err)
	}
	if got := r.row(menu.Problem); got.Shown {
		t.Errorf("the problem is %+v", got)
	}
}

// The rows that open the window start its program with this home.
func TestWindowRowsStartTheWindow(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	a, r := newTestApp(t, options{window: tool(t, dir, "window",
		fmt.Sprintf(`echo "$TANDEM_HOME $*" >'%s.new'; mv '%s.new' '%s'`, out, out, out))})
	a.change(func(*menu.View) {})
	a.clicked(menu.Window)
	// The file is another process's.
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(out); err == nil {
			if string(text) != a.o.home+" --follow\n" {
				t.Errorf("%q", text)
			}
			break
		}
		if time.Now().After(limit) {
			t.Fatal("no window was started")
		}
	}
	for slot, want := range map[menu.Slot]string{menu.Window: "", menu.Preferences: "#/settings"} {
		a.clicked(slot)
		if first, second := a.window.toShow(), a.window.toShow(); first != want || second != "" {
			t.Errorf("row %d: the window shows %q, then %q", slot, first, second)
		}
	}
	a, r = newTestApp(t, options{window: filepath.Join(dir, "none")})
	a.change(func(*menu.View) {})
	a.clicked(menu.Window)
	if got := r.row(menu.Problem).Title; !strings.Contains(got, "the window cannot be opened") {
		t.Errorf("the problem is %q", got)
	}
}

// The menu reports three crashes, and then a click starts the server again. Quit ends everything.
func TestClickStartsACrashedServerAgain(t *testing.T) {
	dir := t.TempDir()
	starts := filepath.Join(dir, "starts")
	a, r := newTestApp(t, options{program: tool(t, dir, "tandem",
		fmt.Sprintf(`echo x >>'%s'; echo "the weights are gone" >&2; exit 3`, starts))})
	ctx, cancel := context.WithCancel(t.Context())
	a.quit = cancel
	ended := make(chan error, 1)
	go func() { ended <- a.supervisor.Run(ctx) }()
	r.until(t, menu.StartAgain, "Start Again")
	if got := r.row(menu.Problem).Title; got != "the weights are gone" {
		t.Errorf("the problem is %q", got)
	}
	a.clicked(menu.StartAgain)
	// The file is another process's.
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if text, _ := os.ReadFile(starts); len(text) == len("x\n")*4 { // there is one by now
			break
		}
		if time.Now().After(limit) {
			t.Fatal("the click starts nothing")
		}
	}
	a.clicked(menu.Quit)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The menu shows the state from the stream. It says "Starting…" while no server answers, and then
// shows the next stream.
func TestMenuFollowsTheState(t *testing.T) {
	a, r := newTestApp(t, options{})
	says, ends := make(chan string), make(chan bool)
	serve(t, a.o.home, func(w http.ResponseWriter, req *http.Request) {
		select {
		case text := <-says:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n", text)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		case <-req.Context().Done():
			return
		}
		select {
		case <-ends:
		case <-req.Context().Done():
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		a.follow(ctx, make(chan struct{}, 1))
		close(ended)
	}()
	say := func(text string) {
		t.Helper()
		select {
		case says <- text:
		case <-ended:
			t.Fatal("the state is not followed any more")
		}
	}
	say(`{"rev":1,"phase":"failed"}`)
	r.until(t, menu.Status, "No model")
	ends <- true
	r.until(t, menu.Status, "Starting…")
	say(`{"rev":1,"phase":"draining"}`)
	r.until(t, menu.Status, "Stopping…")
	cancel()
	<-ended
}
