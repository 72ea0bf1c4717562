package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"tandem/app/control"
)

// portTakenError says that another program has the endpoint's port.
type portTakenError struct {
	port  int
	owner string // empty = not known
	next  int    // that was free; 0 = none was found
	err   error
}

func (e *portTakenError) Error() string {
	text := fmt.Sprintf("port %d is taken by %s; stop it and try again", e.port, cmp.Or(e.owner, otherProgram))
	if e.next != 0 {
		text += fmt.Sprintf(", or use port %d", e.next)
	}
	return text
}

func (e *portTakenError) Unwrap() error { return e.err }

const otherProgram = "another program"

// look finds out who has the port, and which one is free.
func (e *portTakenError) look(ctx context.Context, network bool) {
	const far = 20 // ports
	e.owner = portOwner(ctx, e.port)
	if isTandem(ctx, e.port) {
		e.owner = "another Tandem"
	}
	for port := e.port + 1; port <= min(e.port+far, 65535); port++ {
		if list, err := listenPort(place{port, network}); err == nil {
			for _, l := range list {
				l.Close()
			}
			e.next = port
			return
		}
	}
}

// isTandem asks the endpoint on a port whether it is one of ours.
func isTandem(ctx context.Context, port int) bool {
	const patience = time.Second // whatever listens there need not answer
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/v1/models/%s", port, control.Alias), nil)
	if err != nil {
		return false
	}
	direct := &http.Transport{DisableKeepAlives: true} // by no proxy
	resp, err := direct.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var model struct {
		OwnedBy string `json:"owned_by"`
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 4<<10)).Decode(&model) == nil && model.OwnedBy == control.Alias
}

// openEndpoint, which Serve calls, listens for the first time. A port that is taken is not an error:
// the state says so.
func (a *App) openEndpoint(ctx context.Context, at place) error {
	if !a.hasEndpoint() {
		return nil
	}
	a.listeners.at = at
	err := a.move(ctx, at)
	if _, ok := errors.AsType[*portTakenError](err); ok {
		return nil
	}
	if given, ok := a.settings.Given("port"); ok && err == nil && at.port == 0 {
		port := a.listeners.where().port
		a.settings.Give("port", given, func(s *control.Settings) { s.Port = port })
	}
	return err
}

// move serves the endpoint at another place. Error: *portTakenError, who knows
// by whom. If it is open nowhere then, the state says so, and why: of the port
// where it should be, not of another that somebody tried since.
func (a *App) move(ctx context.Context, to place) error {
	err := a.listeners.move(to)
	if taken, ok := errors.AsType[*portTakenError](err); ok {
		taken.look(ctx, to.network)
		err = taken
	}
	address := a.listeners.address()
	a.mu.Lock()
	moved := err == nil || a.address != address
	switch {
	case err == nil:
		a.noPort = nil
	case address == "" && (a.noPort == nil || to.port == a.listeners.where().port):
		a.noPort = err
	}
	a.address = address
	a.mu.Unlock()
	if moved {
		if err := a.home.Announce(address); err != nil {
			a.log.Warn("writing the address into the lock", "error", err)
		}
	}
	return err
}

// networkMoves reports whether the endpoint is to be opened anew if other machines
// are let in or no more: also one that is closed, except that of a port which
// another program has. That one is opened as it is set once somebody tries again.
func (a *App) networkMoves() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, taken := errors.AsType[*portTakenError](a.noPort)
	return !taken
}

// portError tells a client why the endpoint did not move.
func (a *App) portError(err error) error {
	if _, ok := errors.AsType[*control.Error](err); ok || err == nil {
		return err
	}
	what := "Nothing was changed"
	if a.listeners.address() == "" {
		what = "The endpoint is closed"
	}
	return &control.Error{Code: control.CodePortTaken, Param: "port", Message: fmt.Sprintf("%s: %v.", what, err), Err: err}
}

// SetPort implements server.Settings. A port that a flag decides moves until the
// program ends; otherwise it is set.
func (a *App) SetPort(ctx context.Context, port int) error {
	now := a.settings.Current()
	if port == 0 {
		port = now.Port
	}
	b, err := json.Marshal(port)
	if err != nil {
		return err
	}
	change := control.SettingsChange{"port": b}
	if _, err := now.With(change, now); err != nil && port != now.Port {
		return err
	}
	given, byFlag := a.settings.Given("port")
	if !byFlag && port != now.Port {
		_, err := a.ChangeSettings(ctx, change)
		return err
	}
	return a.settings.Exclusively(func() error {
		if !a.hasEndpoint() {
			return errNoEndpoint
		}
		if err := a.move(ctx, place{port, now.Network}); err != nil {
			return a.portError(err)
		}
		if byFlag {
			a.settings.Give("port", given, func(s *control.Settings) { s.Port = port })
		}
		return nil
	})
}

// reached returns the addresses by which other machines call the endpoint, none
// unless they may.
func (a *App) reached() []string {
	if !a.hasEndpoint() || a.listeners.address() == "" {
		return nil
	}
	at := a.listeners.where()
	if !at.network {
		return nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	return urlsOf(own, at.port)
}

// urlsOf are the endpoint's addresses at those of a machine that others can
// call: not its own, nor those that hold on one cable only.
func urlsOf(own []net.Addr, port int) (urls []string) {
	for _, a := range own {
		n, ok := a.(*net.IPNet)
		if ok && n.IP.IsGlobalUnicast() {
			urls = append(urls, "http://"+net.JoinHostPort(n.IP.String(), strconv.Itoa(port)))
		}
	}
	return urls
}

// errNoEndpoint is what a process answers that serves the socket alone.
var errNoEndpoint = control.Errorf(control.CodeInvalid, "This Tandem serves one command and no endpoint; run `tandem serve`.")

func (a *App) hasEndpoint() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listeners != nil
}
