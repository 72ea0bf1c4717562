package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/roomtest"
	"tandem/app/wire"
)

// pipes is a listener of connections in memory. Their deadlines follow the clock of a test.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close()
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8263} }

// dial connects from an address.
func (p *pipes) dial(from net.IP) net.Conn {
	client, served := net.Pipe()
	p.conns <- addressed{served, &net.TCPAddr{IP: from, Port: 50000}, p.Addr()}
	return client
}

// An addressed connection has addresses of TCP.
type addressed struct {
	net.Conn
	remote, local net.Addr
}

func (c addressed) RemoteAddr() net.Addr { return c.remote }

func (c addressed) LocalAddr() net.Addr { return c.local }

// A client that goes on sending almost nothing is cut in time. This holds in every part of a
// request, whether or not the rest is read.
func TestSlowClientsAreCut(t *testing.T) {
	const (
		json  = "Host: localhost\r\nContent-Type: application/json\r\n"
		large = "Content-Length: 40000000\r\n\r\n"
		body  = "Content-Length: 1000\r\n\r\n"
		parts = "Transfer-Encoding: chunked\r\n\r\n"
	)
	here, other := net.IPv4(127, 0, 0, 1), net.IPv4(192, 168, 7, 9)
	for name, c := range map[string]struct {
		from    net.IP
		head    string // sent at once
		trickle string // sent byte by byte, a second each, again and again
		status  string // of the answer; empty for no answer
		most    time.Duration
	}{
		"nothing":        {here, "", "", "", 10 * time.Second},
		"a request line": {here, "", "GET /xxxxxxxxxxxxxxxxxxxxxxxx", "400", 10 * time.Second},
		"headers":        {here, "GET /health HTTP/1.1\r\n", "X-A: b\r\n", "400", 10 * time.Second},
		"a body": {here, "POST /v1/completions HTTP/1.1\r\n" + json + body,
			" ", "408", wire.BodyTimeout},
		"a body in parts": {here, "POST /v1/completions HTTP/1.1\r\n" + json + parts,
			"1\r\n \r\n", "408", wire.BodyTimeout},
		"a body for a session": {here, "POST /app/session HTTP/1.1\r\n" + json + body,
			" ", "408", wire.BodyTimeout},
		"a body that is too large": {here, "POST /v1/completions HTTP/1.1\r\n" + json + large,
			" ", "413", wire.BodyTimeout},
		"a form": {here,
			"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n" +
				body, " ", "415", wire.UnreadTimeout},
		"a body that no route reads": {here, "GET /health HTTP/1.1\r\n" + json + body, " ",
			"200", wire.UnreadTimeout},
		"a body without a session": {here, "POST /app/load HTTP/1.1\r\n" + json + body, " ",
			"401", wire.UnreadTimeout},
		"a body for another's name": {here,
			"POST /v1/completions HTTP/1.1\r\nHost: evil.example\r\n" + body, " ", "403",
			wire.UnreadTimeout},
		"a body from elsewhere": {other, "POST /v1/completions HTTP/1.1\r\n" + json + body,
			" ", "401", wire.UnreadTimeout},
		"a body in parts from elsewhere": {other, "POST /v1/completions HTTP/1.1\r\n" + json +
			parts, "1\r\n \r\n", "401", wire.UnreadTimeout},
		"a body for no route": {here, "POST /wibble HTTP/1.1\r\n" + json + body, " ",
			"404", wire.UnreadTimeout},
		"a body for another method": {here, "PATCH /v1/models HTTP/1.1\r\n" + json + body, " ",
			"405", wire.UnreadTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := roomtest.NewBackend()
				s := New(services(fake), Options{Rules: Rules{Network: true}})
				srv, l := wire.HTTP(s.Endpoint(), nil, nil), newPipes()
				var serving sync.WaitGroup
				serving.Go(func() { srv.Serve(l) })
				start := time.Now()
				conn := l.dial(c.from)
				serving.Go(func() {
					_, err := io.WriteString(conn, c.head)
					for i := 0; err == nil && c.trickle != ""; i++ {
						time.Sleep(time.Second)
						_, err = conn.Write([]byte{c.trickle[i%len(c.trickle)]})
					}
				})
				answer, _ := io.ReadAll(conn)
				if took := time.Since(start); took > c.most+time.Second {
					t.Errorf("it was cut after %v, want %v", took, c.most)
				}
				status, _, _ := strings.Cut(strings.TrimPrefix(string(answer), "HTTP/1.1 "), " ")
				if status != c.status {
					t.Errorf("it got %q", answer)
				}
				conn.Close()
				srv.Close()
				serving.Wait()
				if fake.Held != 0 || len(s.api.Active()) != 0 || s.api.BytesTaken() != 0 {
					t.Errorf("%d models are held, %d runs in flight, %d places taken",
						fake.Held, len(s.api.Active()), s.api.BytesTaken())
				}
			})
		})
	}
}

// A connection without another request is closed.
func TestIdleConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, l := wire.HTTP(New(services(roomtest.NewBackend()), Options{}).Endpoint(), nil, nil), newPipes()
		var serving sync.WaitGroup
		serving.Go(func() { srv.Serve(l) })
		conn := l.dial(net.IPv4(127, 0, 0, 1))
		start := time.Now()
		serving.Go(func() {
			io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
		})
		answer, err := io.ReadAll(conn)
		if took := time.Since(start); took != srv.IdleTimeout || err != nil ||
			!strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf("closed after %v, want %v: %q %v", took, srv.IdleTimeout, answer, err)
		}
		srv.Close()
		serving.Wait()
	})
}

// Headers and addresses that are longer than any client's are refused before they take memory.
func TestLongHeadIsRefused(t *testing.T) {
	for name, head := range map[string]string{
		"one header":     "GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ",
		"many headers":   "GET /health HTTP/1.1\r\nHost: localhost\r\n",
		"an address":     "GET /health?",
		"a request line": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			srv, l := wire.HTTP(New(services(roomtest.NewBackend()), Options{}).Endpoint(), nil, nil),
				newPipes()
			var serving sync.WaitGroup
			serving.Go(func() { srv.Serve(l) })
			conn := l.dial(net.IPv4(127, 0, 0, 1))
			sent := 0
			serving.Go(func() {
				piece := strings.Repeat("x", 1000)
				if name == "many headers" {
					piece = strings.Repeat("X-A: b\r\n", 125)
				}
				n, err := io.WriteString(conn, head)
				for sent = n; err == nil && sent < 1<<20; sent += n {
					n, err = io.WriteString(conn, piece)
				}
				conn.Close()
			})
			answer, _ := io.ReadAll(conn)
			srv.Close()
			serving.Wait()
			if !strings.HasPrefix(string(answer), "HTTP/1.1 431") || sent > 2*srv.MaxHeaderBytes {
				t.Errorf("%s: %.60q after %d bytes", name, answer, sent)
			}
		})
	}
	if wire.HTTP(http.NotFoundHandler(), nil, nil).MaxHeaderBytes > 64<<10 {
		t.Error("more than 64 KiB of headers are read")
	}
}
