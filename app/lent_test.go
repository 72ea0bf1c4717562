package app

import (
	"net"
	"sync"
	"testing"

	"tandem/app/endpoint"
)

// A lent listener is one at a port that the test has for itself: nobody else can
// take it while it is closed.
type lent struct {
	net.Listener
	arrived <-chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *lent) Accept() (net.Conn, error) {
	select {
	case c := <-l.arrived:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *lent) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// lendPort takes a port of this machine until the test ends, and returns what
// listens there, however often and wherever it is asked to.
func lendPort(t *testing.T) (port int, listens func(endpoint.Place) ([]net.Listener, error)) {
	t.Helper()
	own, err := endpoint.Listen(endpoint.Place{})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	arrived := map[net.Listener]chan net.Conn{}
	for _, l := range own {
		conns := make(chan net.Conn)
		arrived[l] = conns
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				select {
				case conns <- c:
				case <-over:
					c.Close()
				}
			}
		}()
	}
	t.Cleanup(func() {
		close(over)
		for _, l := range own {
			l.Close()
		}
	})
	return own[0].Addr().(*net.TCPAddr).Port,
		func(endpoint.Place) (list []net.Listener, err error) {
			for _, l := range own {
				list = append(list, &lent{Listener: l, arrived: arrived[l],
					closed: make(chan struct{})})
			}
			return list, nil
		}
}
