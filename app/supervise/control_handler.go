package supervise

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"tandem/app/control"
)

// The routes of a ControlHandler. A window's page, a window's program and a second instance call
// them.
const (
	controlPath = "/supervisor/"
	statusPath  = controlPath + "status" // GET: a Status
	AgainPath   = controlPath + "again"  // POST: calls Again
	showPath    = controlPath + "window" // POST: shows the window
	loginPath   = controlPath + "login"  // GET: a control.AtLogin; POST: sets it

	toShowPath = controlPath + "to-show" // POST: takes a control.ToShow
)

// A ControlHandler answers for a supervisor: to the page of a window that has its own, and to
// callers on the menu's socket.
type ControlHandler struct {
	Supervisor *Supervisor
	Show       func() // shows the window; nil if the window is the supervisor

	// ToShow returns what the window should show and clears it, see [control.ToShow]; nil without a
	// menu.
	ToShow func() string

	// Login and SetLogin read and set whether Tandem starts at login. They are nil without a menu,
	// because login would start the menu.
	Login    func() control.AtLogin
	SetLogin func(on bool) error
}

// Handler returns the routes.
func (d ControlHandler) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statusPath,
		func(w http.ResponseWriter, _ *http.Request) { reply(w, d.Supervisor.Status()) })
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
	if d.ToShow != nil {
		mux.HandleFunc("POST "+toShowPath, func(w http.ResponseWriter, _ *http.Request) {
			reply(w, control.ToShow{Show: d.ToShow()})
		})
	}
	if d.Login != nil {
		mux.HandleFunc("GET "+loginPath,
			func(w http.ResponseWriter, _ *http.Request) { reply(w, d.Login()) })
		mux.HandleFunc("POST "+loginPath, d.setLogin)
	}
	return mux
}

func (d ControlHandler) setLogin(w http.ResponseWriter, r *http.Request) {
	var wanted control.AtLogin
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLine)).Decode(&wanted); err != nil {
		control.WriteError(w, control.Errorf(control.CodeInvalid,
			"The body is not a JSON object with the field on: %w.", err))
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
	_ = json.NewEncoder(w).Encode(v) // an error here means that the client is gone
}

// Why returns the error that explains to a page why the server does not answer.
func (s Status) Why() *control.Error {
	switch s.Phase {
	case Crashed:
		return control.Errorf(control.CodeCrashed,
			"Tandem's server ended %d times and is not started again by itself: %s",
			maxCrashes, s.Reason)
	case Waiting:
		return control.Errorf(control.CodeUnavailable,
			"Tandem's server ended and is started again: %s", s.Reason)
	}
	return control.Errorf(control.CodeUnavailable,
		"Tandem's server is starting. This page goes on by itself.")
}

// Page returns the handler for the page of a window that supervises by itself. The server answers
// it. While the server is down, the supervisor answers with its status.
func (s *Supervisor) Page(server *control.Client) http.Handler {
	return page(server.Proxy(func(context.Context) *control.Error { return s.Status().Why() }),
		ControlHandler{Supervisor: s}.Handler())
}

// PageOf returns the handler for the page of a window that the menu bar opened. While the server is
// down, it gets the status from the menu bar.
func PageOf(menu, server *control.Client) http.Handler {
	gone := func(context.Context) *control.Error {
		return control.Errorf(control.CodeUnavailable,
			"Tandem's menu bar does not answer, so its server is not started. Close this window "+
				"and open Tandem again.")
	}
	return page(server.Proxy(func(ctx context.Context) *control.Error {
		st, err := status(ctx, menu)
		if err != nil {
			return gone(ctx)
		}
		return st.Why()
	}), menu.Proxy(gone))
}

// page sends the control routes to control, and the rest to the server.
func page(server, control http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, controlPath) {
			control.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(w, r)
	})
}

// ToShow asks the menu bar what the window should show, see [control.ToShow]. It returns "" if the
// menu bar does not answer.
func ToShow(ctx context.Context, menu *control.Client) string {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	resp, err := menu.Do(ctx, http.MethodPost, toShowPath, struct{}{})
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var to control.ToShow
	if json.NewDecoder(resp.Body).Decode(&to) != nil {
		return ""
	}
	return to.Show
}

// status asks the handler on the menu's socket.
func status(ctx context.Context, menu *control.Client) (st Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	resp, err := menu.Do(ctx, http.MethodGet, statusPath, nil)
	if err != nil {
		return st, err
	}
	defer resp.Body.Close()
	return st, json.NewDecoder(resp.Body).Decode(&st)
}
