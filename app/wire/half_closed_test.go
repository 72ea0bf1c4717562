package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A halfClosable connection can end its own sending.
type halfClosable interface {
	net.Conn
	CloseWrite() error
}

// overEach calls f with a way to connect to a server of h, over TCP and over a Unix socket.
func overEach(t *testing.T, h http.HandlerFunc, f func(t *testing.T, dial func() halfClosable)) {
	t.Helper()
	for network, address := range map[string]string{"tcp": "127.0.0.1:0",
		"unix": filepath.Join(t.TempDir(), "s")} {
		t.Run(network, func(t *testing.T) {
			l, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			srv := HTTP(h, nil, nil)
			go srv.Serve(Accepting(l))
			defer srv.Close()
			f(t, func() halfClosable {
				c, err := net.Dial(network, l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				t.Cleanup(func() { c.Close() })
				return c.(halfClosable)
			})
		})
	}
}

const halfRequests = "GET / HTTP/1.1\r\nHost: x\r\n\r\n" // and others below

// work answers after a while, or with 499 if its client seems to have left.
func work(w http.ResponseWriter, r *http.Request) {
	_, _ = io.ReadAll(r.Body)
	select {
	case <-time.After(280 * time.Millisecond): // some bytes are sent ahead meanwhile
		w.Header().Set("Content-Type", "text/plain")
		_ = WriteWhole(w, http.StatusTeapot, []byte("the answer"))
	case <-r.Context().Done():
		w.WriteHeader(StatusClientGone)
	}
}

func TestClientThatEndsItsSendingGetsTheWholeAnswer(t *testing.T) {
	overEach(t, work, func(t *testing.T, dial func() halfClosable) {
		for _, request := range []string{
			halfRequests,
			"GET / HTTP/1.0\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody",
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody",
			strings.Repeat(halfRequests, 3), // without waiting for the first answer
		} {
			c := dial()
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			read := bufio.NewReader(c)
			for range strings.Count(request, "HTTP/1.") {
				resp, err := http.ReadResponse(read, nil)
				if err != nil {
					t.Fatalf("%q: %v", request, err)
				}
				if resp.StatusCode == http.StatusContinue {
					if resp, err = http.ReadResponse(read, nil); err != nil {
						t.Fatalf("%q: %v", request, err)
					}
				}
				if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "the answer" ||
					resp.StatusCode != http.StatusTeapot {
					t.Errorf("%q: %s %q %v", request, resp.Status, b, err)
				}
			}
			if rest, err := io.ReadAll(read); len(rest) > 0 || err != nil {
				t.Errorf("%q: %q follows the answer, %v", request, rest, err)
			}
		}
	})
}

func TestClientThatEndsItsSendingGetsTheWholeStream(t *testing.T) {
	stream := func(w http.ResponseWriter, r *http.Request) {
		out := NewEventStream(w)
		go func() {
			for i := range 5 {
				time.Sleep(50 * time.Millisecond) // the client ends its sending between two
				out.Send(fmt.Append(nil, i))
			}
			out.End(nil)
		}()
		_, _ = out.Serve(r.Context())
	}
	overEach(t, stream, func(t *testing.T, dial func() halfClosable) {
		for _, wait := range []time.Duration{0, 120 * time.Millisecond} { // before and in the stream
			c := dial()
			fmt.Fprint(c, halfRequests)
			time.Sleep(wait)
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			text := strings.ReplaceAll(string(b), ": keep-alive\n\n", "")
			if want := "data: 0\n\ndata: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n"; text != want ||
				err != nil {
				t.Errorf("after %v: %q %v", wait, b, err)
			}
		}
	})
}

// A client leaves by closing its connection, or ends its sending first and leaves later.
func TestClientThatLeavesEndsItsRequest(t *testing.T) {
	there, ended := make(chan struct{}), make(chan time.Time, 1)
	streams := false
	wait := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
		defer cancel()
		if there <- struct{}{}; streams {
			out := NewEventStream(w)
			out.First, out.Next = 2*time.Second, 2*time.Second
			out.Send([]byte("0"))
			_, _ = out.Serve(ctx)
		}
		<-ctx.Done()
		if r.Context().Err() != nil {
			ended <- time.Now()
		} else {
			ended <- time.Time{} // it was not noticed
		}
	}
	overEach(t, wait, func(t *testing.T, dial func() halfClosable) {
		for _, streams = range []bool{false, true} {
			// The kernel tells nobody when the server has seen the end of the sending.
			for name, leave := range map[string]func(halfClosable){
				"closes": func(c halfClosable) {},
				"ends its sending, then closes": func(c halfClosable) {
					_ = c.CloseWrite()
					time.Sleep(100 * time.Millisecond)
				},
				"ends its sending, reads, then closes": func(c halfClosable) {
					_ = c.CloseWrite()
					time.Sleep(100 * time.Millisecond)
					_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
					_, _ = io.Copy(io.Discard, c)
				},
			} {
				c := dial()
				fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
				<-there
				time.Sleep(50 * time.Millisecond) // the server reads ahead by then
				leave(c)
				left := time.Now()
				c.Close()
				soon := time.Second
				if strings.Contains(name, "reads") {
					soon = 5 * time.Second // at the next byte that is sent
				}
				if at := <-ended; at.IsZero() || at.Sub(left) > soon {
					t.Errorf("streams %v, a client that %s: noticed after %v", streams, name,
						at.Sub(left))
				}
			}
		}
	})
}

// net/http ends the sending alone where a client may still write, so that the client reads why.
func TestServerEndsItsSendingAndReadsOn(t *testing.T) {
	for network, address := range map[string]string{"tcp": "127.0.0.1:0",
		"unix": filepath.Join(t.TempDir(), "s")} {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		client, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_ = client.SetDeadline(time.Now().Add(20 * time.Second))
		conn, err := Accepting(l).Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		server, ok := conn.(halfClosable)
		if !ok {
			t.Fatalf("over %s the server cannot end its sending alone", network)
		}
		fmt.Fprint(server, "why")
		if err := server.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if why, err := io.ReadAll(client); string(why) != "why" || err != nil {
			t.Errorf("%s: %q %v", network, why, err)
		}
		fmt.Fprint(client, "more")
		if n, err := io.ReadFull(server, make([]byte, 4)); n != 4 {
			t.Errorf("%s: the server reads %d bytes, %v", network, n, err)
		}
	}
}
