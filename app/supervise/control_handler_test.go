package supervise

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"tandem/app/control"
)

// ask sends a request to a page's handler.
func ask(h http.Handler, method, path string) *httptest.ResponseRecorder {
	return send(h, method, path, "")
}

func send(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(method, path, strings.NewReader(body)))
	return rec
}

// says reports whether an answer is an error with this code and text.
func says(rec *httptest.ResponseRecorder, code control.Code, text string) bool {
	body := rec.Body.String()
	return rec.Code == http.StatusBadGateway && strings.Contains(body, `"`+string(code)+`"`) &&
		strings.Contains(body, text)
}

// pages are the two ways in which a page reaches a supervisor: its own, and the menu bar's.
var pages = map[string]func(*testing.T, string, *Supervisor) http.Handler{
	"its own": func(t *testing.T, home string, s *Supervisor) http.Handler {
		server := control.Dial(home)
		t.Cleanup(server.Close)
		return s.Page(server)
	},
	"the menu's": func(t *testing.T, home string, s *Supervisor) http.Handler {
		d, err := LockInstance(home, true)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- d.Serve(ControlHandler{Supervisor: s, Show: func() {}}) }()
		menu, server := control.DialMenu(home), control.Dial(home)
		t.Cleanup(func() {
			menu.Close()
			server.Close()
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		return PageOf(menu, server)
	},
}

// A page learns why the server does not answer, and can ask for another start. If another process
// serves meanwhile, that process answers.
func TestPageLearnsWhyServerDoesNotAnswer(t *testing.T) {
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			s, w, stop := start(t, home, "crash")
			h := page(t, home, s)
			w.until(t, Crashed, 1)
			if rec := ask(h, http.MethodGet, "/app/state"); !says(rec, control.CodeCrashed,
				"ended 3 times and is not started again by itself: tandem: the weights are gone") {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
			if rec := ask(h, http.MethodPost, AgainPath); rec.Code != http.StatusOK ||
				strings.TrimSpace(rec.Body.String()) != "{}" {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
			w.until(t, Crashed, 2)
			stop()

			home = t.TempDir()
			s = New(Options{Home: home})
			h = page(t, home, s)
			if rec := ask(h, http.MethodGet, "/app/state"); !says(rec, control.CodeUnavailable,
				"is starting") {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
			s.setStatus(Status{Phase: Crashed}) // another process serves after this
			l, err := control.Listen(home)
			if err != nil {
				t.Fatal(err)
			}
			server := &httptest.Server{Listener: l,
				Config: &http.Server{Handler: http.NotFoundHandler()}}
			server.Start()
			defer server.Close()
			if rec := ask(h, http.MethodGet, "/app/state"); rec.Code != http.StatusNotFound {
				t.Errorf("a running server does not get the request: %d %s", rec.Code, rec.Body)
			}
		})
	}
}

// A page learns that there will be another start, until that start.
func TestPageHearsOfNextStart(t *testing.T) {
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			w := &watch{more: make(chan struct{}, 1)}
			s := New(Options{Home: home, Program: os.Args[0], Env: []string{behave + "=crash"},
				Changed: w.changed})
			s.pause = func(ctx context.Context, _ int) { <-ctx.Done() }
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			h := page(t, home, s)
			w.until(t, Waiting, 1)
			if rec := ask(h, http.MethodGet, "/app/state"); !says(rec, control.CodeUnavailable,
				"ended and is started again: tandem: the weights are gone") {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// A page that the menu bar opened says when the menu bar is gone, and what to do. No text sends a
// person to a terminal.
func TestPageSaysWhenMenuBarIsGone(t *testing.T) {
	home := t.TempDir()
	h := PageOf(control.DialMenu(home), control.Dial(home))
	for _, path := range []string{"/app/state", AgainPath} {
		if rec := ask(h, http.MethodPost, path); !says(rec, control.CodeUnavailable,
			"open Tandem again") {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}

// The page reads and sets whether Tandem starts at login, and learns why the system refuses a
// change. Without a menu, login is not offered.
func TestPageSetsLogin(t *testing.T) {
	state, refusal := control.AtLogin{Known: true}, error(nil)
	h := ControlHandler{Login: func() control.AtLogin { return state }, SetLogin: func(on bool) error {
		if refusal == nil {
			state.On = on
		}
		return refusal
	}}.Handler()
	for _, c := range []struct{ method, body, want string }{
		{http.MethodGet, "", `{"known":true,"on":false}`},
		{http.MethodPost, `{"on":true}`, `{"known":true,"on":true}`},
		{http.MethodGet, "", `{"known":true,"on":true}`},
		{http.MethodPost, `{"on":false}`, `{"known":true,"on":false}`},
	} {
		if rec := send(h, c.method, loginPath, c.body); rec.Code != http.StatusOK ||
			strings.TrimSpace(rec.Body.String()) != c.want {
			t.Errorf("%s %s: %d %s", c.method, c.body, rec.Code, rec.Body)
		}
	}
	refusal = errors.New("allow Tandem in System Settings")
	if rec := send(h, http.MethodPost, loginPath, `{"on":true}`); !says(rec, control.CodeInternal,
		"It was not changed: allow Tandem in System Settings.") || state.On {
		t.Errorf("%d %s, %+v", rec.Code, rec.Body, state)
	}
	if rec := send(h, http.MethodPost, loginPath, `on`); !says(rec, control.CodeInvalid, "") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := ask(ControlHandler{}.Handler(), http.MethodGet, loginPath); rec.Code != http.StatusNotFound {
		t.Errorf("without a menu: %d %s", rec.Code, rec.Body)
	}
}

// The window learns once what a row of the menu wants it to show. A window without a menu learns
// nothing.
func TestWindowLearnsOnceWhatToShow(t *testing.T) {
	home, wanted := t.TempDir(), "#/runs/12"
	d, err := LockInstance(home, true)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- d.Serve(ControlHandler{ToShow: func() (show string) {
			show, wanted = wanted, ""
			return show
		}})
	}()
	menu := control.DialMenu(home)
	defer menu.Close()
	for _, want := range []string{"#/runs/12", ""} {
		if got := ToShow(t.Context(), menu); got != want {
			t.Errorf("the window shows %q, want %q", got, want)
		}
	}
	if err := errors.Join(d.Close(), <-ended); err != nil {
		t.Error(err)
	}
	if got := ToShow(t.Context(), menu); got != "" {
		t.Errorf("without a menu the window shows %q", got)
	}
}
