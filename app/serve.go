package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tandem/app/control"
	"tandem/app/server"
)

// DefaultAddr is where editors look for Tandem.
const DefaultAddr = "127.0.0.1:8263"

// Requests in flight may take drainTime to end after a stop. Then they are
// ended, and have cutTime to tell their clients.
const (
	drainTime = 4 * time.Second
	cutTime   = time.Second
)

// ServeOptions of Serve.
type ServeOptions struct {
	// Addr is a loopback address with a port; port 0 picks a free one, the
	// same for both loopback families. Empty serves the socket only.
	Addr string

	// Preload loads the choice at once, so that the first request need not
	// wait for it.
	Preload bool

	// Pages is the interface to serve at /; where it has no index.html the
	// built-in page is served.
	Pages fs.FS

	// Stop, once closed, ends Serve as soon as no request is in flight,
	// however long that takes: a process that served for a purpose of its own
	// may have clients by then. Nil never does.
	Stop <-chan struct{}

	// Ready is called once the listeners answer, with the endpoint's address
	// and a link that opens the page with a session. Both are empty where no
	// endpoint was opened.
	Ready func(address, link string)
}

// Serve answers on the control socket and the endpoint until ctx ends, then
// drains. A port that is taken is not an error: the socket is served all the
// same, and the state says who has the port.
func (a *App) Serve(ctx context.Context, o ServeOptions) error {
	srv := server.New(a, server.Options{Logger: a.log, Pages: o.Pages})
	socket, err := control.Listen(a.home.Dir)
	if err != nil {
		return err
	}
	listeners := []net.Listener{socket}
	handlers := []http.Handler{srv.Socket()}
	if o.Addr != "" {
		tcp, err := listenLoopback(o.Addr)
		if e, ok := errors.AsType[*portTakenError](err); ok {
			a.log.Error("the endpoint is not open", "reason", e.Error())
			a.mu.Lock()
			a.noPort = e.Error()
			a.mu.Unlock()
		} else if err != nil {
			return errors.Join(err, socket.Close())
		}
		for _, l := range tcp {
			listeners = append(listeners, l)
			handlers = append(handlers, srv.Endpoint())
		}
		if len(tcp) > 0 {
			a.mu.Lock()
			a.address = "http://" + tcp[0].Addr().String()
			a.mu.Unlock()
			if err := a.home.announce(a.address); err != nil {
				a.log.Warn("writing the address into the lock", "error", err)
			}
		}
	}

	a.mu.Lock()
	a.starting = o.Preload
	a.mu.Unlock()
	var servers []*http.Server
	var inside gate
	var running sync.WaitGroup
	failed := make(chan error, len(listeners))
	for i, l := range listeners {
		h := server.HTTP(inside.guard(handlers[i]), a.log)
		servers = append(servers, h)
		running.Go(func() {
			if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
		})
	}
	if o.Ready != nil {
		link := ""
		if a.State().Address != "" {
			link = srv.NewCode().URL
		}
		o.Ready(a.State().Address, link)
	}
	running.Go(func() {
		if !o.Preload {
			return
		}
		if err := a.preload(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("loading the chosen model", "error", err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.starting = false
	})

	var result error
	select {
	case <-ctx.Done():
	case result = <-failed:
	case <-o.Stop:
		inside.empty(ctx)
	}
	a.drain(srv, servers)
	inside.close()
	running.Wait()
	return result
}

// drain lets requests in flight end by themselves, then cancels the rest.
func (a *App) drain(srv *server.Server, servers []*http.Server) {
	a.mu.Lock()
	a.draining = true
	a.mu.Unlock()
	a.end()
	if shutdown(servers, drainTime) {
		return
	}
	srv.Close()
	if shutdown(servers, cutTime) {
		return
	}
	for _, h := range servers {
		h.Close()
	}
}

// shutdown closes the listeners and waits until no request is in flight, or
// for as long as it may.
func shutdown(servers []*http.Server, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var wg sync.WaitGroup
	for _, h := range servers {
		wg.Go(func() { _ = h.Shutdown(ctx) }) // ctx tells
	}
	wg.Wait()
	return ctx.Err() == nil
}

// A gate knows whether a request is inside. Closing an http.Server cuts its
// connections but does not wait for the handlers, which use what Close frees.
type gate struct {
	mu     sync.RWMutex // held for reading by each request
	closed bool
	count  atomic.Int64 // requests inside
}

func (g *gate) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.RLock()
		defer g.mu.RUnlock()
		if g.closed {
			panic(http.ErrAbortHandler)
		}
		g.count.Add(1)
		defer g.count.Add(-1)
		h.ServeHTTP(w, r)
	})
}

// empty waits until no request is inside, or ctx ends.
func (g *gate) empty(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for g.count.Load() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// close waits for the requests inside and lets no more in.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// portTakenError says that another program has the endpoint's port.
type portTakenError struct {
	port int
	err  error
}

func (e *portTakenError) Error() string {
	return fmt.Sprintf("port %d is taken by another program; stop it, or start Tandem with --addr 127.0.0.1:%d", e.port, e.port+1)
}

func (e *portTakenError) Unwrap() error { return e.err }

// listenLoopback opens addr on both loopback families. Error:
// *portTakenError.
func listenLoopback(addr string) ([]net.Listener, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: write HOST:PORT, for example %s", addr, DefaultAddr)
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		return nil, fmt.Errorf("address %q: the port is a number from 0 to 65535", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("address %q: only this machine can be served; use 127.0.0.1", addr)
	}
	if port != 0 {
		return listenPort(port)
	}
	// A port that is free in one family may be taken in the other.
	for range 20 {
		if probe, err := net.Listen("tcp4", "127.0.0.1:0"); err == nil {
			port = probe.Addr().(*net.TCPAddr).Port
			probe.Close()
			if list, err := listenPort(port); err == nil {
				return list, nil
			}
		}
	}
	return nil, errors.New("no port is free in both loopback families")
}

// listenPort opens one port. The wildcard address is probed first: macOS
// would let us bind the loopback address of a port that another program has
// on all addresses, and clients would reach either.
func listenPort(port int) ([]net.Listener, error) {
	taken := func(err error) ([]net.Listener, error) {
		return nil, &portTakenError{port: port, err: err}
	}
	probe, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return taken(err)
	}
	probe.Close()
	v4, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return taken(err)
	}
	v6, err := net.Listen("tcp6", fmt.Sprintf("[::1]:%d", port))
	if err != nil {
		if hasIPv6() {
			v4.Close()
			return taken(err)
		}
		return []net.Listener{v4}, nil
	}
	return []net.Listener{v4, v6}, nil
}

// hasIPv6 reports whether the machine has an IPv6 loopback address at all.
func hasIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}
