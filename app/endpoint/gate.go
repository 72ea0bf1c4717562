package endpoint

import (
	"net/http"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/app/wire"
)

// A gate counts the requests inside. Closing an http.Server cuts its connections but does not wait
// for its handlers. The handlers use what the app frees afterwards.
type gate struct {
	inside sync.RWMutex // held for reading by each request
	closed bool

	mu      sync.Mutex
	working int           // requests inside that do more than read
	empty   chan struct{} // closed when working is 0; nil before leave
}

// guard lets requests through to h. After leave it refuses requests that do more than read.
func (g *gate) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.inside.RLock()
		defer g.inside.RUnlock()
		if g.closed {
			panic(http.ErrAbortHandler)
		}
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !reads && !strings.HasSuffix(r.URL.Path, "/cancel") {
			if !g.begin() {
				wire.Refuse(w, r, control.ErrDraining)
				return
			}
			defer g.end()
		}
		h.ServeHTTP(w, r)
	})
}

// begin lets work in, unless leave was called.
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

// count returns the number of requests inside that do more than read.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.working
}

// leave lets no more work in. Its channel is closed when the work inside has ended. The caller
// calls leave once.
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
