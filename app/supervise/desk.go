package supervise

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"tandem/app/control"
)

// What a window's page, a window's program and a second start ask of a Desk.
const (
	deskPath   = "/supervisor/"
	statusPath = deskPath + "status" // GET: a Status
	AgainPath  = deskPath + "again"  // POST: for Again
	showPath   = deskPath + "window" // POST: show it
	loginPath  = deskPath + "login"  // GET: a control.AtLogin; POST: set it
)

// A Desk answers for a supervisor: to the page of a window that has one itself, and at
// the menu's door.
type Desk struct {
	Supervisor *Supervisor
	Show       func() // the window; nil where that is all there is

	// Login and SetLogin are whether Tandem starts at login; nil where there is no
	// menu, which is what would start.
	Login    func() control.AtLogin
	SetLogin func(on bool) error
}

// Handler returns what answers.
func (d Desk) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statusPath, func(w http.ResponseWriter, _ *http.Request) { reply(w, d.Supervisor.Status()) })
	mux.HandleFunc("POST "+AgainPath, func(w http.ResponseWriter, _ *http.Request) {
		d.Supervisor.Again()
		reply(w, struct{}{})
	})
	if d.Show != nil {
		mux.HandleFunc("POST "+showPath, func(w http.ResponseWriter, _ *http.Request) {
			d.Show()
			reply(w, struct{}{})
		})
	}
	if d.Login != nil {
		mux.HandleFunc("GET "+loginPath, func(w http.ResponseWriter, _ *http.Request) { reply(w, d.Login()) })
		mux.HandleFunc("POST "+loginPath, d.setLogin)
	}
	return mux
}

func (d Desk) setLogin(w http.ResponseWriter, r *http.Request) {
	var wanted control.AtLogin
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLine)).Decode(&wanted); err != nil {
		control.WriteError(w, control.Errorf(control.CodeInvalid, "The body is no JSON object with `on`: %w.", err))
		return
	}
	if err := d.SetLogin(wanted.On); err != nil {
		control.WriteError(w, control.Errorf(control.CodeInternal, "It was not changed: %w.", err))
		return
	}
	reply(w, d.Login())
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // whoever asked left
}

// Why says to a page why nobody answers it.
func (s Status) Why() *control.Error {
	switch s.Phase {
	case Crashed:
		return control.Errorf(control.CodeCrashed, "Tandem's server ended %d times and is not started again by itself: %s", maxCrashes, s.Reason)
	case Waiting:
		return control.Errorf(control.CodeUnavailable, "Tandem's server ended and is started again: %s", s.Reason)
	}
	return control.Errorf(control.CodeUnavailable, "Tandem's server is starting. This page goes on by itself.")
}

// Page returns a handler for the page of a window that supervises by itself: the
// process that serves answers it, or else what became of that.
func (s *Supervisor) Page(server *control.Client) http.Handler {
	return page(server.Proxy(func(context.Context) *control.Error { return s.Status().Why() }), Desk{Supervisor: s}.Handler())
}

// PageOf returns a handler for the page of a window that the menu bar opened, which
// asks there what became of the process that serves.
func PageOf(menu, server *control.Client) http.Handler {
	gone := func(context.Context) *control.Error {
		return control.Errorf(control.CodeUnavailable, "Tandem's menu bar does not answer, and so nobody starts its server. Close this window and open Tandem again.")
	}
	return page(server.Proxy(func(ctx context.Context) *control.Error {
		st, err := status(ctx, menu)
		if err != nil {
			return gone(ctx)
		}
		return st.Why()
	}), menu.Proxy(gone))
}

// page answers what is asked of the desk, and passes the rest on.
func page(server, desk http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, deskPath) {
			desk.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(w, r)
	})
}

// status asks the desk at the menu's door for it.
func status(ctx context.Context, menu *control.Client) (st Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	resp, err := menu.Do(ctx, http.MethodGet, statusPath, nil)
	if err != nil {
		return st, err
	}
	defer resp.Body.Close()
	return st, json.NewDecoder(resp.Body).Decode(&st)
}
