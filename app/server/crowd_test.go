package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine/enginetest"
)

// The first connection above the limit is told to try again. Connections far above the limit are
// closed. A connection that closes makes room.
func TestConnectionsAreLimited(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &wire.ConnLimiter{Most: 2}
	srv := c.Server(New(services(roomtest.NewBackend()), Options{}).Endpoint(), nil, nil)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	defer func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	connect := func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	ask := func(conn net.Conn) *http.Response {
		t.Helper()
		if _, err := io.WriteString(conn,
			"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp
	}
	settle := func(open int64) {
		enginetest.Await(t, "as many connections are open", func() bool { return c.Open.Load() == open })
	}
	first, second := connect(), connect()
	for _, conn := range []net.Conn{first, second, first} {
		if resp := ask(conn); resp.StatusCode != http.StatusOK || resp.Close {
			t.Errorf("%d, closed %v", resp.StatusCode, resp.Close)
		}
	}
	third := connect()
	if resp := ask(third); resp.StatusCode != http.StatusServiceUnavailable ||
		resp.Header.Get("Retry-After") != "1" || resp.Header.Get("X-Request-Id") == "" ||
		!resp.Close {
		t.Errorf("the third connection gets %d %v", resp.StatusCode, resp.Header)
	}
	if _, err := third.Read(make([]byte, 1)); err == nil {
		t.Error("the third connection stays open")
	}
	third.Close()
	settle(2)

	connect()
	connect() // two that send nothing
	settle(4)
	if _, err := connect().Read(make([]byte, 1)); err == nil {
		t.Error("the fifth connection is read")
	}
	settle(4)
	if resp := ask(first); resp.StatusCode != http.StatusOK {
		t.Errorf("the first connection now gets %d", resp.StatusCode)
	}

	second.Close()
	settle(3)
	first.Close()
	settle(2)
}

// TestConnectionIsLetInAfterOneCloses: a closed connection makes room.
func TestConnectionIsLetInAfterOneCloses(t *testing.T) {
	c := &wire.ConnLimiter{Most: 1}
	ctx := t.Context()
	a, b := net.Pipe()
	defer b.Close()
	state := c.Server(nil, nil, nil).ConnState
	for range 3 {
		if c.Join(ctx, a).Value(wire.CrowdedKey{}) != nil {
			t.Error("the only connection is refused")
		}
		if c.Join(ctx, a).Value(wire.CrowdedKey{}) == nil {
			t.Error("two connections are let in")
		}
		state(a, http.StateClosed)
		state(a, http.StateHijacked)
	}
}
