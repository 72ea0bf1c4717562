package endpoint

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// After a stop, requests in flight may take drainTime to end by themselves. Then they are
// cancelled, and have cutTime to tell their clients.
const (
	drainTime = 4 * time.Second
	cutTime   = time.Second
)

// A Drainer is the server that answers the requests of an Endpoint.
type Drainer interface {
	Drain() // refuses new work
	Close() // cancels the requests in flight
}

// Requests returns the number of requests in flight that do more than read.
func (e *Endpoint) Requests() int { return e.inside.count() }

// Leave refuses new work. Its channel is closed when the work in flight has ended. The caller calls
// Leave once.
func (e *Endpoint) Leave() <-chan struct{} { return e.inside.leave() }

// Drain closes the listeners and lets the requests in flight end, for at most drainTime and
// cutTime. The address stays until the end, because the state shows it.
func (e *Endpoint) Drain(d Drainer) {
	e.mu.Lock()
	tcp, servers := e.tcp, []*http.Server{e.control}
	e.mu.Unlock()
	if tcp != nil {
		servers = append(tcp.stop(), servers...)
	}
	d.Drain()
	e.fresh.close()
	if shutdown(servers, drainTime) {
		return
	}
	d.Close()
	if shutdown(servers, cutTime) {
		return
	}
	for _, h := range servers {
		h.Close()
	}
}

// Close waits until no request is inside and no goroutine accepts. Drain must have returned.
func (e *Endpoint) Close() {
	e.inside.close()
	e.running.Wait()
}

// shutdown closes the listeners of servers and waits until no request is in flight. It reports
// whether that happened within the limit.
func shutdown(servers []*http.Server, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var wg sync.WaitGroup
	for _, h := range servers {
		wg.Go(func() { _ = h.Shutdown(ctx) }) // ctx says whether it was in time
	}
	wg.Wait()
	return ctx.Err() == nil
}
