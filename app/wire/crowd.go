package wire

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"tandem/engine"
)

// maxConnections limits the open connections of a listener, which protects memory and file
// descriptors. Requests on a connection above it are refused. Above twice the limit, connections are
// closed unread.
const maxConnections = 1000

var ErrCrowded = &engine.Error{
	Code:    engine.CodeQueueFull,
	Message: "Too many connections are open; close some, and try again in a second.",
}

// HTTP returns a server for a handler, with the limits that handlers rely on. It serves a listener
// of Accepting. Writing has no timeout, because each answer sets its own. A nil log discards. state
// is the server's ConnState and may be nil.
func HTTP(h http.Handler, log *slog.Logger, state func(net.Conn, http.ConnState)) *http.Server {
	c := &ConnLimiter{Most: maxConnections}
	return c.Server(h, log, state)
}

// A ConnLimiter counts the open connections of a server.
type ConnLimiter struct {
	Most int
	Open atomic.Int64
}

func (c *ConnLimiter) Server(h http.Handler, log *slog.Logger,
	state func(net.Conn, http.ConnState)) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           outlast(h),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ConnContext:       c.Join,
		ConnState: func(conn net.Conn, s http.ConnState) {
			if s == http.StateClosed || s == http.StateHijacked {
				c.Open.Add(-1)
			}
			if state != nil {
				state(conn, s)
			}
		},
	}
}

// CrowdedKey marks the context of a connection beyond the limit.
type CrowdedKey struct{}

// Join counts a connection that was just accepted.
func (c *ConnLimiter) Join(ctx context.Context, conn net.Conn) context.Context {
	n := int(c.Open.Add(1))
	if n > 2*c.Most {
		_ = conn.Close() // the server then finds it closed and stops counting it
	}
	if n > c.Most {
		ctx = context.WithValue(ctx, CrowdedKey{}, true)
	}
	return context.WithValue(ctx, halfConnKey{}, conn)
}

// Crowded reports whether a request came on a connection beyond the limit.
func Crowded(r *http.Request) bool { return r.Context().Value(CrowdedKey{}) != nil }
