package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"

	"tandem/app/control"
	"tandem/app/wire"
)

// An Endpoint listens for HTTP. Its methods may be called by many goroutines.
type Endpoint struct {
	// Listen opens the port of a binding in both address families. Error: *TakenError if another program has
	// the port. Tests replace it before Serve.
	Listen func(Binding) ([]net.Listener, error)

	log      *slog.Logger
	announce func(address string) error
	inside   gate
	fresh    freshConns
	running  sync.WaitGroup // the goroutines that accept
	failed   chan error     // the reason why a listener ended by itself

	mu      sync.Mutex
	address string       // empty if no address is open
	closed  error        // why no address is open, such as *TakenError; nil if one is
	tcp     *listeners   // nil if only the socket is served
	control *http.Server // serves the socket; nil before Serve
}

// New returns an Endpoint that listens nowhere yet. announce writes the address where other
// processes of this home folder find it. An empty address means that none is open.
func New(log *slog.Logger, announce func(address string) error) *Endpoint {
	return &Endpoint{Listen: Listen, log: log, announce: announce, failed: make(chan error, 1)}
}

// Serving says what an Endpoint serves, and where.
type Serving struct {
	Socket  net.Listener // of the control socket
	Control http.Handler // for the socket
	TCP     http.Handler // nil serves the socket alone
	At      Binding      // of TCP
}

// Serve opens the TCP listeners and answers there and on the socket until Drain. A taken port is no
// error: see Describe. After another error the socket is closed. The caller calls Serve once.
func (e *Endpoint) Serve(ctx context.Context, s Serving) error {
	door := wire.HTTP(e.inside.guard(s.Control), e.log, e.fresh.note)
	e.mu.Lock()
	e.control = door
	if s.TCP != nil {
		e.tcp = &listeners{
			handler: e.inside.guard(s.TCP), note: e.fresh.note, log: e.log,
			listen: e.Listen, running: &e.running, failed: e.fail, at: s.At,
		}
	}
	e.mu.Unlock()
	if s.TCP != nil {
		err := e.Move(ctx, s.At)
		if _, taken := errors.AsType[*TakenError](err); err != nil && !taken {
			return errors.Join(err, s.Socket.Close())
		}
	}
	e.running.Go(func() {
		if err := door.Serve(wire.Accepting(s.Socket)); !errors.Is(err, http.ErrServerClosed) {
			e.fail(fmt.Errorf("serve %s: %w", s.Socket.Addr(), err))
		}
	})
	return nil
}

// fail keeps the first reason why a listener ended.
func (e *Endpoint) fail(err error) {
	select {
	case e.failed <- err:
	default:
	}
}

// Failed delivers the reason why a listener ended by itself, at most once.
func (e *Endpoint) Failed() <-chan error { return e.failed }

// listening returns the TCP listeners, or nil if only the socket is served.
func (e *Endpoint) listening() *listeners {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tcp
}

// HasTCP reports whether TCP is served besides the socket, though it may be closed now.
func (e *Endpoint) HasTCP() bool { return e.listening() != nil }

// Binding returns where TCP is served, or where it was last asked for. HasTCP must hold.
func (e *Endpoint) Binding() Binding { return e.listening().binding() }

// Address returns where programs on this machine call; empty while no port is open.
func (e *Endpoint) Address() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.address
}

// Move serves TCP at another place. Requests that came in before end normally. Error: *TakenError,
// which names the owner. If nothing is open after an error, Describe says why. It speaks of the
// port that is set, not of another port that was tried since. HasTCP must hold.
func (e *Endpoint) Move(ctx context.Context, to Binding) error {
	tcp := e.listening()
	err := tcp.move(to)
	if taken, ok := errors.AsType[*TakenError](err); ok {
		taken.explore(ctx, to.Network)
		err = taken
	}
	address := tcp.address()
	e.mu.Lock()
	moved := err == nil || e.address != address
	switch {
	case err == nil:
		e.closed = nil
	case address == "" && (e.closed == nil || to.Port == tcp.binding().Port):
		e.closed = err
	}
	e.address = address
	e.mu.Unlock()
	if moved {
		if err := e.announce(address); err != nil {
			e.log.Warn("cannot write the address into the lock", "error", err)
		}
	}
	return err
}

// MovesWithNetwork reports whether a change of network access opens the listeners again. That
// includes closed listeners, except when another program has the port. Then the next attempt opens
// them with the new setting.
func (e *Endpoint) MovesWithNetwork() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, taken := errors.AsType[*TakenError](e.closed)
	return !taken
}

// MoveError returns the error of Move as a client gets it. Error: CodePortTaken.
func (e *Endpoint) MoveError(err error) error {
	if _, ok := errors.AsType[*control.Error](err); ok || err == nil {
		return err
	}
	what := "Nothing was changed"
	if e.Address() == "" {
		what = "The endpoint is closed"
	}
	return &control.Error{
		Code: control.CodePortTaken, Param: "port", Err: err,
		Message: fmt.Sprintf("%s: %v.", what, err),
	}
}

// Describe fills in the endpoint's part of the state.
func (e *Endpoint) Describe(st *control.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	st.Address = e.address
	if e.closed != nil {
		st.Error, st.EndpointClosed = fmt.Sprintf("the endpoint is closed: %v", e.closed), true
	}
	if p, ok := errors.AsType[*TakenError](e.closed); ok {
		owner := cmp.Or(p.Owner, otherProgram)
		st.Error, st.PortTaken = p.Error(), &control.PortTaken{Port: p.Port, Owner: owner,
			Next: p.Next}
	}
}

// Reached returns the addresses at which other machines call the endpoint, none unless they may.
func (e *Endpoint) Reached() []string {
	tcp := e.listening()
	if tcp == nil || tcp.address() == "" || !tcp.binding().Network {
		return nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	return urlsOf(own, tcp.binding().Port)
}

// urlsOf returns the endpoint's URLs at those addresses of a machine that others can call. Loopback
// and link-local addresses are left out.
func urlsOf(own []net.Addr, port int) (urls []string) {
	for _, a := range own {
		n, ok := a.(*net.IPNet)
		if ok && n.IP.IsGlobalUnicast() {
			urls = append(urls, "http://"+net.JoinHostPort(n.IP.String(), strconv.Itoa(port)))
		}
	}
	return urls
}
