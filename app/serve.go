package app

import (
	"cmp"
	"context"
	"io/fs"
	"sync"

	"tandem/app/control"
	"tandem/app/endpoint"
	"tandem/app/home"
	"tandem/app/server"
)

// ServeOptions of Serve.
type ServeOptions struct {
	// Endpoint serves TCP beside the socket, where the settings say. Addr is a loopback address
	// with a port. If it is set, TCP is served there, for this machine alone, even without
	// Endpoint. Port 0 picks a free one, the same for both loopback families.
	Endpoint bool
	Addr     string

	// AllowedHosts and AllowedOrigins are the endpoint's, see server.Rules. With nil the settings
	// decide.
	AllowedHosts, AllowedOrigins []string

	// Preload loads the choice at once, so that the first request does not wait for it.
	Preload bool

	// Loaded, if set, is called after a preload, with its error or nil. It is not called if the
	// stop came first.
	Loaded func(err error)

	// Pages is the interface to serve at /. If it has no index.html, the built-in page is served.
	Pages fs.FS

	// Stop, once closed, ends Serve after the requests in flight, however long they take. New work
	// is refused. A command that serves while it works may have clients when it is done. Nil never
	// stops.
	Stop <-chan struct{}

	// Ready is called once the listeners answer. It gets the endpoint's address, and a link that
	// opens the page with a session. Both are empty if no endpoint was opened.
	Ready func(address, link string)

	// Moved, if set, is called when a change of the settings has opened another port. It gets the endpoint's
	// new address.
	Moved func(address string)

	// Hold, if set, keeps the system awake during requests, loads, downloads, benches and
	// verifications.
	Hold Hold

	// Pressure, if set, tells how short of memory the machine is. Idle models and checkpoints make
	// room then.
	Pressure home.PressureSource

	// Draining, if set, is called when the drain begins with requests in flight. Ending them may
	// take some seconds.
	Draining func(requests int)
}

// Serve answers on the control socket and the endpoint until ctx ends, then drains. A taken port is
// no error: the socket is served, and the state says which program has the port.
func (a *App) Serve(ctx context.Context, o ServeOptions) error {
	set, err := a.serveSettings(o)
	if err != nil {
		return err
	}
	srv := server.New(a.services(), server.Options{Logger: a.log, Pages: o.Pages,
		Rules: rules(set)})
	socket, err := control.Listen(a.home.Dir)
	if err != nil {
		return home.Unusable(err)
	}
	var running sync.WaitGroup
	serving := endpoint.Serving{
		Socket: socket, Control: srv.Socket(),
		At: endpoint.Binding{Port: set.Port, Network: set.Network},
	}
	if o.Endpoint || o.Addr != "" {
		serving.TCP = srv.Endpoint()
	}
	a.mu.Lock()
	a.server, a.starting, a.moved = srv, o.Preload, o.Moved
	a.mu.Unlock()
	if o.Preload { // a command that serves only while it works leaves downloads alone
		a.library.Resume()
	}
	if err := a.endpoint.Serve(ctx, serving); err != nil {
		return err
	}
	a.keepPort(set.Port)
	if o.Ready != nil {
		link := ""
		if a.State().Address != "" {
			link = srv.NewCode().URL
		}
		o.Ready(a.State().Address, link)
	}
	a.startWork(ctx, o, srv, &running)
	result := a.untilStopped(ctx, o.Stop)
	if n := a.endpoint.Requests(); n > 0 && o.Draining != nil {
		o.Draining(n)
	}
	a.pool.Drain()
	a.end()
	a.endpoint.Drain(srv)
	a.endpoint.Close()
	running.Wait()
	return result
}

// startWork starts the work beside requests. It ends with ctx or with the App's life.
func (a *App) startWork(ctx context.Context, o ServeOptions, srv *server.Server,
	running *sync.WaitGroup) {
	if o.Preload {
		running.Go(func() {
			if err := a.pool.Preload(ctx); (err == nil || ctx.Err() == nil) && o.Loaded != nil {
				o.Loaded(err)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.starting = false
		})
		running.Go(func() { a.watchUpdates(a.life) })
	}
	running.Go(func() { a.pool.UnloadIdle(a.life) })
	running.Go(func() { a.history.Sweep(a.life) })
	if o.Pressure != nil {
		running.Go(func() { a.pool.FollowPressure(a.life, o.Pressure) })
	}
	if o.Hold != nil {
		busy := func() string { return cmp.Or(work(srv.State()), a.computing()) }
		running.Go(func() { keepAwake(a.life, busy, o.Hold) })
	}
}

// untilStopped waits until ctx ends, a listener fails, or the work in flight has ended after stop.
// After stop new work is refused. An error is the listener's.
func (a *App) untilStopped(ctx context.Context, stop <-chan struct{}) error {
	select {
	case <-ctx.Done():
	case err := <-a.endpoint.Failed():
		return err
	case <-stop:
		a.mu.Lock()
		a.leaving = true
		a.mu.Unlock()
		select {
		case <-a.endpoint.Leave():
		case <-ctx.Done():
		}
	}
	return nil
}

// serveSettings returns the settings. Options come before what is set.
func (a *App) serveSettings(o ServeOptions) (control.Settings, error) {
	flag := func(name, by string, set func(*control.Settings)) {
		a.settings.Override(name, control.Given{Source: control.FromFlag, By: by}, set)
	}
	if o.Addr != "" {
		port, err := endpoint.LoopbackPort(o.Addr)
		if err != nil {
			return control.Settings{}, err
		}
		flag("port", "--addr", func(s *control.Settings) { s.Port = port })
		flag("network", "--addr", func(s *control.Settings) { s.Network = false })
	}
	if o.AllowedHosts != nil {
		flag("allowed_hosts", "--allow-host",
			func(s *control.Settings) { s.AllowedHosts = o.AllowedHosts })
	}
	if o.AllowedOrigins != nil {
		flag("allowed_origins", "--allow-origin",
			func(s *control.Settings) { s.AllowedOrigins = o.AllowedOrigins })
	}
	return a.settings.Current(), nil
}

// rules returns which requests the endpoint lets in, as the settings say.
func rules(s control.Settings) server.Rules {
	return server.Rules{
		AllowedHosts: s.AllowedHosts, AllowedOrigins: s.AllowedOrigins, Network: s.Network,
		RequireKey: s.RequireKey,
	}
}
