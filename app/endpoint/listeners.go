package endpoint

import (
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

// A Binding is where the endpoint listens: a port, on the loopback or on all addresses.
type Binding struct {
	Port    int  // 0 = any
	Network bool // other machines too
}

// listeners are an endpoint's TCP listeners. They can move while they serve. Requests on the former
// ones end normally.
type listeners struct {
	handler http.Handler
	note    func(net.Conn, http.ConnState)
	log     *slog.Logger
	listen  func(Binding) ([]net.Listener, error)
	running *sync.WaitGroup // the endpoint's; it waits for the goroutines started here
	failed  func(error)     // gets the reason why a listener ended by itself

	mu      sync.Mutex
	at      Binding // where they are open, or were last asked for
	open    []accepting
	former  []*http.Server // of listeners that were retired, with their connections
	stopped bool
}

// An accepting listener has a server.
type accepting struct {
	net.Listener
	*http.Server
}

// move listens at another place, and then no longer at the former one. Errors include *TakenError.
// After an error it listens where it did before, or nowhere if the way back failed too; see
// address.
func (l *listeners) move(to Binding) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
		return control.ErrDraining
	case l.open != nil && to == l.at:
		return nil
	case l.open == nil || to.Port != l.at.Port:
		list, err := l.listen(to)
		if err != nil {
			return err
		}
		l.retire()
		l.serve(list, to)
		return nil
	}
	// The port is the same, and wildcard and loopback addresses exclude each other.
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
func (l *listeners) serve(list []net.Listener, at Binding) {
	at.Port = list[0].Addr().(*net.TCPAddr).Port
	l.at = at
	for _, x := range list {
		h := wire.HTTP(l.handler, l.log, l.note)
		s := accepting{x, h}
		l.open = append(l.open, s)
		l.running.Go(func() {
			err := h.Serve(wire.Accepting(x))
			if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) && !l.has(s) {
				return
			}
			l.failed(fmt.Errorf("serve %s: %w", x.Addr(), err))
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
		s.Server.SetKeepAlivesEnabled(false) // closes idle connections
	}
	l.open = nil
}

// stop ends moving. It returns the servers of all listeners, former ones too.
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

// binding returns where they listen, or were last asked to listen.
func (l *listeners) binding() Binding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}

// address returns where programs on this machine call; empty if they listen nowhere.
func (l *listeners) address() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return ""
	}
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(l.at.Port))
}
