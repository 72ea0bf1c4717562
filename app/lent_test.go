package app

import (
	"net"
	"sync"
	"testing"

	"tandem/app/endpoint"
)

// A lent listener hands out connections of a port that the test keeps open. No other program can
// take the port while the lent listener is closed.
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

// lendPort keeps a port of this machine open until the test ends. The function that it returns
// gives new lent listeners at that port, whatever place it is asked for.
func lendPort(t *testing.T) (port int, listens func(endpoint.Binding) ([]net.Listener, error)) {
	t.Helper()
	own, err := endpoint.Listen(endpoint.Binding{})
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
		func(endpoint.Binding) (list []net.Listener, err error) {
			for _, l := range own {
				list = append(list, &lent{Listener: l, arrived: arrived[l],
					closed: make(chan struct{})})
			}
			return list, nil
		}
}
