package wire_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

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

// The number of large bodies read at once is limited, in all and for one client. Clients above it
// are told to try again. Small bodies need no place.
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
		r.Header.Set("User-Agent", client)
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	// A body of unknown length takes twice what has come.
	half := `{"model":"tandem","prompt":"x","user":"` + strings.Repeat("y", wire.LargeBytes/16-100)
	var bodies []*io.PipeWriter
	answers := make(chan int)
	// hold makes a client send the first half of some bodies.
	hold := func(client string, n int) {
		for range n {
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
		}
		enginetest.Await(t, "half of each body is taken", func() bool {
			return s.API.BytesTaken() >= len(bodies)*wire.LargeBytes/16
		})
	}
	refused := func(client string, status int) {
		t.Helper()
		resp, err := post(client, strings.NewReader(half+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != status || resp.Header.Get("Retry-After") != "1" {
			t.Errorf("one more of %s: %s, Retry-After %q",
				client, resp.Status, resp.Header.Get("Retry-After"))
		}
	}
	hold("greedy", 12)
	refused("greedy", http.StatusTooManyRequests)
	hold("modest", 4)
	refused("another", http.StatusServiceUnavailable)
	if resp, err := post("another",
		strings.NewReader(`{"model":"tandem","prompt":"x"}`)); err != nil ||
		resp.StatusCode != http.StatusOK {
		t.Errorf("a small one: %+v, %v", resp, err)
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
	if n := s.API.BytesTaken(); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
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
