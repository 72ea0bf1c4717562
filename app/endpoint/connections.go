package endpoint

import (
	"net"
	"net/http"
	"sync"
)

// A freshConns holds the connections on which no request has arrived yet. http.Server.Shutdown
// would wait for them as if they were busy.
type freshConns struct {
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// note records a connection's state. It is an http.Server's ConnState.
func (f *freshConns) note(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(f.conns, c)
	case f.closed:
		c.Close()
	default:
		if f.conns == nil {
			f.conns = map[net.Conn]struct{}{}
		}
		f.conns[c] = struct{}{}
	}
}

// close closes the connections, and all that arrive later.
func (f *freshConns) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for c := range f.conns {
		c.Close()
	}
}
