package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine/enginetest"
)

func TestOtherContentTypesAreRefused(t *testing.T) {
	const good = `{"model":"tandem","prompt":"x"}`
	for ct, want := range map[string]int{
		"application/json":                         200,
		"application/json; charset=UTF-8":          200,
		"application/json; charset=latin1":         415,
		"application/json; charset=utf8":           200,
		"":                                         200, // a program that names no type
		"application/x-www-form-urlencoded":        200, // curl, told nothing
		"application/octet-stream":                 200, // aiohttp, told nothing
		"text/json":                                200,
		"text/json; charset=utf-8":                 200,
		"Application/Vnd.API+JSON":                 200,
		"application/vnd.api+json; v=1":            200,
		"application/problem+json; charset=latin1": 415,
		"application/+json":                        415,
		"text/x+json":                              415,
		"text/plain":                               415,
		"text/plain; application/json":             415,
		"multipart/form-data; boundary=x":          415,
		"application/jsonp":                        415,
	} {
		if w := roomtest.PostAs(serve(roomtest.NewBackend()), "/v1/completions", ct,
			good); w.Code != want {
			t.Errorf("%q: %d, want %d: %s", ct, w.Code, want, w.Body)
		}
	}
}

// TestBodyOver64MBIs413 sends 64 MB over a real connection, with a Content-Length and without. The
// client gets 413 either way, and the server answers the next request.
func TestBodyOver64MBIs413(t *testing.T) {
	srv := httptest.NewServer(serve(roomtest.NewBackend()))
	defer srv.Close()
	body := `{"model":"tandem","prompt":"` + strings.Repeat("x", 64_000_000) + `"}`
	for _, chunked := range []bool{false, true} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			srv.URL+"/v1/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if chunked {
			req.ContentLength = -1
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("chunked %v: %v", chunked, err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("chunked %v: %s", chunked, resp.Status)
		}
	}
	resp, err := http.Post(srv.URL+"/v1/completions", "application/json",
		strings.NewReader(`{"model":"tandem","prompt":"x"}`))
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("the next request: %v %v", resp, err)
	}
	resp.Body.Close()
}

// Memory grows with the bytes that arrive, not with the length that the client states.
func TestMemoryFollowsReceivedBytes(t *testing.T) {
	s := serve(roomtest.NewBackend())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := roomtest.LocalRequest(http.MethodPost, "/v1/completions",
		io.MultiReader(strings.NewReader(`{"model":`), errReader{io.ErrUnexpectedEOF}))
	r.Host, r.ContentLength = "localhost", wire.MaxBody
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	if w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were allocated for a body of 9", n)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// The bytes of large bodies in flight are limited. Beyond the limit there is room for clients that have
// little. The rest are told to try again. Small bodies need no room.
func TestLargeBodiesAreLimited(t *testing.T) {
	s := serve(roomtest.NewBackend())
	srv := httptest.NewServer(s)
	defer srv.Close()
	post := func(client string, body io.Reader) (*http.Response, error) {
		r, err := http.NewRequest(http.MethodPost, srv.URL+"/v1/completions", body)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(wire.ClientHeader, client)
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	// A body of unknown length takes twice what has come.
	const size = 4 << 20
	half := `{"model":"tandem","prompt":"x","user":"` + strings.Repeat("y", size-100)
	var bodies []*io.PipeWriter
	answers := make(chan int)
	// hold makes a client send the first half of a body.
	hold := func(client string) {
		before := s.API.BytesTaken()
		body, rest := io.Pipe()
		bodies = append(bodies, rest)
		go func() {
			resp, err := post(client, body)
			if err != nil {
				answers <- 0
				return
			}
			answers <- resp.StatusCode
		}()
		if _, err := io.WriteString(rest, half); err != nil {
			t.Fatal(err)
		}
		enginetest.Await(t, "half of the body is taken", func() bool { return s.API.BytesTaken() >= before+size })
	}
	// take has requests in flight take most of a client's room.
	var taken []*wire.Reservation
	take := func(client string, bytes int) {
		t.Helper()
		p := &wire.Reservation{Client: "name " + client}
		if err := s.API.Grow(p, bytes); err != nil {
			t.Fatal(err)
		}
		taken = append(taken, p)
	}
	refused := func(client string) {
		t.Helper()
		resp, err := post(client, strings.NewReader(half+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1" {
			t.Errorf("one more of %s: %s, Retry-After %q",
				client, resp.Status, resp.Header.Get("Retry-After"))
		}
	}
	take("greedy", wire.LargeBytes-size)
	hold("greedy")
	refused("greedy")
	hold("modest") // beyond the limit
	take("modest", wire.OthersBytes-2*size)
	hold("another")
	refused("modest")
	refused("third")
	if resp, err := post("third",
		strings.NewReader(`{"model":"tandem","prompt":"x"}`)); err != nil ||
		resp.StatusCode != http.StatusOK {
		t.Errorf("a small one: %+v, %v", resp, err)
	}
	for _, p := range taken {
		p.Release()
	}
	for _, b := range bodies {
		io.WriteString(b, `"}`)
		b.Close()
	}
	for range bodies {
		if status := <-answers; status != http.StatusOK {
			t.Errorf("a large one: %d", status)
		}
	}
	srv.Close() // waits for the handlers, which release after they answered
	if n := s.API.BytesTaken(); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
}

// TestLargeBodiesTakeTurns: bodies that are rendered and tokenized together are limited, and one more
// waits until there is room or its client leaves.
func TestLargeBodiesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := wire.NewExchange(nil, t.Context())
		reserve := func(bytes int) *wire.Reservation {
			p := &wire.Reservation{Client: fmt.Sprint(bytes)}
			if err := x.Grow(p, bytes); err != nil {
				t.Fatal(err)
			}
			return p
		}
		first, err := x.WaitTurn(t.Context(), reserve(40<<20))
		if err != nil {
			t.Fatal(err)
		}
		gone := errors.New("the client left")
		ctx, leave := context.WithCancelCause(t.Context())
		var left, next error
		begun := false
		p, q := reserve(32<<20), reserve(33<<20)
		go func() { _, left = x.WaitTurn(ctx, p) }()
		go func() {
			var end func()
			end, next = x.WaitTurn(t.Context(), q)
			begun = true
			end()
		}()
		synctest.Wait()
		if begun {
			t.Error("a body that has no room is begun")
		}
		if end, err := x.WaitTurn(t.Context(), new(wire.Reservation)); err != nil {
			t.Error(err)
		} else {
			end() // a small body does not wait
		}
		leave(gone)
		synctest.Wait()
		if left != gone || begun {
			t.Errorf("the one that left: %v; the next has begun: %t", left, begun)
		}
		first()
		synctest.Wait()
		if !begun || next != nil {
			t.Errorf("the next has begun: %t, %v", begun, next)
		}
		end, err := x.WaitTurn(t.Context(), reserve(80<<20)) // more than all room
		if err != nil {
			t.Fatal(err)
		}
		end()
	})
}

// A body that stalls times out. So does a half-sent body when the server drains.
func TestStalledBodyTimesOut(t *testing.T) {
	s := serve(roomtest.NewBackend())
	for want, s := range map[int]*roomtest.Served{http.StatusRequestTimeout: s,
		http.StatusServiceUnavailable: serve(roomtest.NewBackend())} {
		if want == http.StatusServiceUnavailable {
			s.Drain()
		}
		r := roomtest.LocalRequest(http.MethodPost, "/v1/completions",
			errReader{fmt.Errorf("read: %w", os.ErrDeadlineExceeded)})
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%d, want %d: %s", w.Code, want, w.Body)
		}
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	enginetest.Await(t, "the request is in flight", func() bool { return len(s.API.Active()) > 0 })
	s.Drain()
	head := make([]byte, len("HTTP/1.1 503"))
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 503" {
		t.Errorf("%q %v", head, err)
	}
}
