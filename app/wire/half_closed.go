package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// answerStart begins every answer of an HTTP/1 server. Its bytes can be sent before the answer is
// known.
const answerStart = "HTTP/1."

const (
	firstLook  = time.Millisecond       // until the first look whether a client is gone
	lastLook   = 250 * time.Millisecond // between two looks, at most
	firstProbe = lastLook               // until the second byte that is sent ahead
	probeEvery = 4                      // times the wait before, until each later one
)

// Accepting returns a listener for a server of HTTP. Its connections tell a client that has only
// ended its own sending, as socat does, from one that has left. To net/http both are the same, and
// it would cancel the request of either.
func Accepting(l net.Listener) net.Listener { return acceptingListener{l} }

type acceptingListener struct{ net.Listener }

func (l acceptingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if s, ok := c.(syscall.Conn); ok && err == nil {
		if raw, err := s.SyscallConn(); err == nil {
			return &halfConn{Conn: c, raw: raw}, nil
		}
	}
	return c, err
}

// A halfConn is a connection whose client may end its own sending before it has the answer.
//
// TCP shows the same for a client that has left. Only a byte sent to it tells the two apart: the system
// of a client that has left resets the connection. So a halfConn sends the first bytes of the answer
// early, one at a time, and leaves them out of the answer.
type halfConn struct {
	net.Conn
	raw   syscall.RawConn
	ended atomic.Bool // the client's sending has ended
	lost  atomic.Bool // a write failed

	mu      sync.Mutex
	waiting bool // a request has no byte of its answer yet
	ahead   int  // bytes of answerStart that were sent, and are to be left out of the answer
}

func (c *halfConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		c.ended.Store(true)
	}
	return n, err
}

func (c *halfConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	sent := min(c.ahead, len(b))
	c.ahead, c.waiting = c.ahead-sent, false
	c.mu.Unlock()
	n, err := c.Conn.Write(b[sent:])
	if err != nil {
		c.lost.Store(true)
	}
	return sent + n, err
}

// CloseWrite ends the sending of the server, where net/http closes a connection that a client may
// still write to: without it the client would lose the answer.
func (c *halfConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// await notes that a request was read. net/http has sent all of the answer before.
func (c *halfConn) await() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = true
}

// probe sends the next byte of the answer ahead, if there is none of it yet. It reports whether the
// client is known to be gone.
func (c *halfConn) probe() (gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.waiting || c.ahead == len(answerStart) {
		return false
	}
	n, failed := 0, error(nil)
	err := c.raw.Write(func(fd uintptr) bool {
		n, failed = syscall.Write(int(fd), []byte{answerStart[c.ahead]})
		return true // a full buffer is no reason to wait
	})
	if n == 1 {
		c.ahead++
	}
	return err != nil || failed != nil && failed != syscall.EAGAIN && failed != syscall.EINTR
}

// refused reports whether a write failed, or the client's system has answered that nobody is there.
func (c *halfConn) refused() bool {
	if c.lost.Load() {
		return true
	}
	code, failed := 0, error(nil)
	err := c.raw.Control(func(fd uintptr) {
		code, failed = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
	})
	return err != nil || failed != nil || code != 0
}

// waitUntilGone returns true when the client has left, or false when done is closed. Reading has
// failed or ended.
func (c *halfConn) waitUntilGone(done <-chan struct{}) bool {
	if !c.ended.Load() {
		return true
	}
	began, next := time.Now(), time.Duration(0)
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		if time.Since(began) >= next {
			if next = max(firstProbe, next*probeEvery); c.probe() {
				return true
			}
		}
		if c.refused() {
			return true
		}
		select {
		case <-time.After(wait):
		case <-done:
			return false
		}
	}
}

// Keys of a request's context.
type (
	halfConnKey struct{} // its *halfConn
	endedKey    struct{} // a channel that is closed when the client's sending has ended
)

// outlast gives each request a context that ends when its client has left, and not before.
func outlast(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(halfConnKey{}).(*halfConn)
		if !ok {
			h.ServeHTTP(w, r)
			return
		}
		c.await()
		ended := make(chan struct{})
		ctx, cancel := context.WithCancel(context.WithValue(
			context.WithoutCancel(r.Context()), endedKey{}, (<-chan struct{})(ended)))
		defer cancel()
		defer context.AfterFunc(r.Context(), func() {
			close(ended)
			if c.waitUntilGone(ctx.Done()) {
				cancel()
			}
		})()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// sendingEnded returns a channel that is closed when the client has ended its sending, and may have
// left. It is nil if that ends the context.
func sendingEnded(ctx context.Context) <-chan struct{} {
	ended, _ := ctx.Value(endedKey{}).(<-chan struct{})
	return ended
}
