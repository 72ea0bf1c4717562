package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"

	"tandem/app/control"
	"tandem/app/server"
)

// A place is where the endpoint listens.
type place struct {
	port    int  // 0 = any
	network bool // for other machines too
}

// listeners are what Serve has of TCP. They can be moved while it serves;
// requests of before end as they end.
type listeners struct {
	handler http.Handler
	state   func(net.Conn, http.ConnState) // of connections
	log     *slog.Logger
	listen  func(place) ([]net.Listener, error)
	running *sync.WaitGroup // Serve's, which waits for what is started here
	failed  chan<- error    // why a listener ended by itself; Serve takes the first

	mu      sync.Mutex
	at      place // of open; what was asked for last if there are none
	open    []accepting
	former  []*http.Server // with connections of before
	stopped bool
}

// An accepting listener has a server.
type accepting struct {
	net.Listener
	*http.Server
}

// move listens at another place, and no more at the one before. Error: such as
// *portTakenError. It listens where it did then, or nowhere if the way back was
// closed too, see address.
func (l *listeners) move(to place) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
		return control.ErrDraining
	case l.open != nil && to == l.at:
		return nil
	case l.open == nil || to.port != l.at.port:
		list, err := l.listen(to)
		if err != nil {
			return err
		}
		l.retire()
		l.serve(list, to)
		return nil
	}
	// The same port: the wildcard address and the loopback ones exclude each other.
	l.retire()
	list, err := l.listen(to)
	if err != nil {
		back, again := l.listen(l.at)
		if again == nil {
			l.serve(back, l.at)
		}
		return errors.Join(err, again)
	}
	l.serve(list, to)
	return nil
}

// serve starts a server for each listener. The caller holds l.mu.
func (l *listeners) serve(list []net.Listener, at place) {
	at.port = list[0].Addr().(*net.TCPAddr).Port
	l.at = at
	for _, x := range list {
		h := server.HTTP(l.handler, l.log, l.state)
		s := accepting{x, h}
		l.open = append(l.open, s)
		l.running.Go(func() {
			err := h.Serve(x)
			if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) && !l.has(s) {
				return
			}
			select {
			case l.failed <- fmt.Errorf("serve %s: %w", x.Addr(), err):
			default: // another was first
			}
		})
	}
}

func (l *listeners) has(s accepting) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.open {
		if o == s {
			return true
		}
	}
	return false
}

// retire closes the listeners. The caller holds l.mu.
func (l *listeners) retire() {
	for _, s := range l.open {
		l.former = append(l.former, s.Server)
		_ = s.Listener.Close()               // it is ours
		s.Server.SetKeepAlivesEnabled(false) // closes what is idle
	}
	l.open = nil
}

// stop lets it move no more, and returns the servers it has or had.
func (l *listeners) stop() []*http.Server {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	list := l.former
	for _, s := range l.open {
		list = append(list, s.Server)
	}
	return list
}

// where says where they listen, or were asked to.
func (l *listeners) where() place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}

// address is where programs on this machine call it; empty while it listens
// nowhere.
func (l *listeners) address() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return ""
	}
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(l.at.port))
}
