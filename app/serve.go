package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/server"
)

// Requests in flight may take drainTime to end after a stop. Then they are
// ended, and have cutTime to tell their clients.
const (
	drainTime = 4 * time.Second
	cutTime   = time.Second
)

// ServeOptions of Serve.
type ServeOptions struct {
	// Endpoint serves TCP beside the socket: at Addr, a loopback address with a
	// port, if that is not empty, and then for this machine alone, else where the
	// settings say. Port 0 picks a free one, the same for both loopback families.
	// Addr alone will do, too.
	Endpoint bool
	Addr     string

	// AllowedHosts and AllowedOrigins are the endpoint's, see server.Options; nil
	// leaves them to the settings.
	AllowedHosts, AllowedOrigins []string

	// Preload loads the choice at once, so that the first request need not
	// wait for it.
	Preload bool

	// Loaded, if set, is called when a preload has ended, with why it failed
	// or nil. It is not called if the stop came first.
	Loaded func(err error)

	// Pages is the interface to serve at /; where it has no index.html the
	// built-in page is served.
	Pages fs.FS

	// Stop, once closed, ends Serve as soon as the requests in flight have
	// ended, however long they take: a process that served for a purpose of
	// its own may have clients by then. New work is refused. Nil never stops.
	Stop <-chan struct{}

	// Ready is called once the listeners answer, with the endpoint's address
	// and a link that opens the page with a session. Both are empty where no
	// endpoint was opened.
	Ready func(address, link string)

	// Hold, if set, keeps the system awake while a request, a load, a download, a
	// bench or a verification goes on.
	Hold Hold

	// Draining, if set, is called when the drain begins with requests still
	// in flight, which it may take some seconds to end.
	Draining func(requests int)
}

// Serve answers on the control socket and the endpoint until ctx ends, then
// drains. A port that is taken is not an error: the socket is served all the
// same, and the state says who has the port.
func (a *App) Serve(ctx context.Context, o ServeOptions) error {
	set, err := a.serveSettings(o)
	if err != nil {
		return err
	}
	srv := server.New(a.services(), server.Options{Logger: a.log, Pages: o.Pages, Rules: rules(set)})
	socket, err := control.Listen(a.home.Dir)
	if err != nil {
		return err
	}
	var inside gate
	var fresh newConns
	var running sync.WaitGroup
	failed := make(chan error, 1)
	door := server.HTTP(inside.guard(srv.Socket()), a.log, fresh.note)
	tcp := &listeners{handler: inside.guard(srv.Endpoint()), state: fresh.note, log: a.log, listen: a.listen, running: &running, failed: failed}
	a.mu.Lock()
	a.server, a.starting = srv, o.Preload
	if o.Endpoint || o.Addr != "" {
		a.listeners = tcp
	}
	a.mu.Unlock()
	if o.Preload { // otherwise it serves for a purpose of its own, and not for long
		a.resumeDownloads()
	}
	if err := a.openEndpoint(ctx, place{set.Port, set.Network}); err != nil {
		return errors.Join(err, socket.Close())
	}
	running.Go(func() {
		if err := door.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			select {
			case failed <- fmt.Errorf("serve %s: %w", socket.Addr(), err):
			default: // another was first
			}
		}
	})
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
		if err := a.preload(ctx); (err == nil || ctx.Err() == nil) && o.Loaded != nil {
			o.Loaded(err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.starting = false
	})
	running.Go(func() { a.unloadIdle(a.life) })
	running.Go(func() { a.sweepTexts(a.life) })
	if o.Preload {
		running.Go(func() { a.watchUpdates(a.life) })
	}
	if o.Hold != nil {
		running.Go(func() { keepAwake(a.life, func() string { return cmp.Or(work(srv.State()), a.computing()) }, o.Hold) })
	}

	var result error
	select {
	case <-ctx.Done():
	case result = <-failed:
	case <-o.Stop:
		a.mu.Lock()
		a.leaving = true
		a.mu.Unlock()
		select {
		case <-inside.leave():
		case <-ctx.Done():
		}
	}
	if n := inside.count(); n > 0 && o.Draining != nil {
		o.Draining(n)
	}
	a.drain(srv, append(tcp.stop(), door), &fresh)
	inside.close()
	running.Wait()
	return result
}

// serveSettings returns the settings, in which the options win.
func (a *App) serveSettings(o ServeOptions) (control.Settings, error) {
	flag := func(name, by string, set func(*control.Settings)) {
		a.settings.Give(name, control.Given{Source: control.FromFlag, By: by}, set)
	}
	if o.Addr != "" {
		port, err := loopbackPort(o.Addr)
		if err != nil {
			return control.Settings{}, err
		}
		flag("port", "--addr", func(s *control.Settings) { s.Port = port })
		flag("network", "--addr", func(s *control.Settings) { s.Network = false })
	}
	if o.AllowedHosts != nil {
		flag("allowed_hosts", "--allow-host", func(s *control.Settings) { s.AllowedHosts = o.AllowedHosts })
	}
	if o.AllowedOrigins != nil {
		flag("allowed_origins", "--allow-origin", func(s *control.Settings) { s.AllowedOrigins = o.AllowedOrigins })
	}
	return a.settings.Current(), nil
}

// rules are what settings say of the endpoint's door.
func rules(s control.Settings) server.Rules {
	return server.Rules{AllowedHosts: s.AllowedHosts, AllowedOrigins: s.AllowedOrigins, Network: s.Network, RequireKey: s.RequireKey}
}

// drain lets requests in flight end by themselves, then cancels the rest.
func (a *App) drain(srv *server.Server, servers []*http.Server, fresh *newConns) {
	a.mu.Lock()
	a.draining = true
	a.mu.Unlock()
	a.end()
	srv.Drain()
	fresh.close()
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

// newConns holds the connections on which no request has arrived yet.
// Shutdown would wait for those as if they were busy.
type newConns struct {
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// note is an http.Server's ConnState.
func (n *newConns) note(c net.Conn, state http.ConnState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(n.conns, c)
	case n.closed:
		c.Close()
	default:
		if n.conns == nil {
			n.conns = map[net.Conn]struct{}{}
		}
		n.conns[c] = struct{}{}
	}
}

// close closes them, and those to come.
func (n *newConns) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for c := range n.conns {
		c.Close()
	}
}

// A gate knows whether a request is inside. Closing an http.Server cuts its
// connections but does not wait for the handlers, which use what Close frees.
type gate struct {
	inside sync.RWMutex // held for reading by each request
	closed bool

	mu      sync.Mutex
	working int           // requests inside that do more than look
	empty   chan struct{} // closed once there are none of these; nil before leave
}

func (g *gate) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.inside.RLock()
		defer g.inside.RUnlock()
		if g.closed {
			panic(http.ErrAbortHandler)
		}
		if looks := r.Method == http.MethodGet || r.Method == http.MethodHead || strings.HasSuffix(r.URL.Path, "/cancel"); !looks {
			if !g.begin() {
				server.Refuse(w, r, control.ErrDraining)
				return
			}
			defer g.end()
		}
		h.ServeHTTP(w, r)
	})
}

// begin lets work in, unless the gate is being left.
func (g *gate) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty != nil {
		return false
	}
	g.working++
	return true
}

func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.working--; g.working == 0 && g.empty != nil {
		close(g.empty)
	}
}

// count returns the requests inside that do more than look.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.working
}

// leave lets no more work in. What it returns is closed once what is inside
// has ended. It is called once.
func (g *gate) leave() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.empty = make(chan struct{})
	if g.working == 0 {
		close(g.empty)
	}
	return g.empty
}

// close waits for the requests inside and lets no more in.
func (g *gate) close() {
	g.inside.Lock()
	defer g.inside.Unlock()
	g.closed = true
}
