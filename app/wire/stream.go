package wire

import (
	"context"
	"net/http"
	"sync"
	"time"

	"tandem/app/control"
)

const (
	ReaderPatience = 30 * time.Second // a write that takes longer ends the connection
	MaxPending     = 16 << 20         // bytes that wait for a write; above it the client is cut
	writeSize      = 32 << 10         // bytes of one write, so that a slow reader shows progress
	QuietFirst     = 2 * time.Second  // silence before the first sign that more is to come
	quietNext      = 5 * time.Second  // silence before each later sign
)

var (
	ErrSlowReader = control.Errorf(control.CodeCancelled,
		"The client stopped reading; its connection was cut.")
	ErrClientGone = control.Errorf(control.CodeCancelled, "The client left.")
)

// An EventStream is the writing side of a stream of events. Any goroutine may call Send, SendEvent
// and End, which never wait for the client. Serve writes, on the handler's goroutine.
type EventStream struct {
	w           http.ResponseWriter
	Framing     Framing
	First, Next time.Duration // silence before the first and each later sign that more is to come

	// Wait queues such a sign as an event. It is nil where the framing has one. Serve calls it.
	Wait func()

	mu      sync.Mutex
	pending []byte
	ended   bool
	err     error
	wake    chan struct{} // capacity 1
}

func NewEventStream(w http.ResponseWriter) *EventStream {
	return &EventStream{w: w, Framing: ServerSent{}, First: QuietFirst, Next: quietNext,
		wake: make(chan struct{}, 1)}
}

// Send queues one event without a name. data holds no newline. It returns false once the client has
// fallen too far behind.
func (s *EventStream) Send(data []byte) bool { return s.SendEvent("", data) }

// SendEvent queues one event with a name, for protocols that name events.
func (s *EventStream) SendEvent(name string, data []byte) bool {
	s.mu.Lock()
	ok := len(s.pending)+len(data) <= MaxPending
	if ok {
		s.pending = s.Framing.AppendEvent(s.pending, name, data)
	}
	s.mu.Unlock()
	s.signal()
	return ok
}

// End closes the stream after the events that were sent. An error becomes the last event, or the
// whole answer if nothing was written before.
func (s *EventStream) End(err error) {
	s.mu.Lock()
	s.ended, s.err = true, err
	s.mu.Unlock()
	s.signal()
}

func (s *EventStream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Serve writes events until the end, or returns the error that stopped it: ErrSlowReader,
// ErrClientGone, or ctx's cause. began says whether a status line was written. If not, the caller
// can still write another answer.
func (s *EventStream) Serve(ctx context.Context) (began bool, err error) {
	rc := http.NewResponseController(s.w)
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	quiet := time.NewTimer(s.First)
	defer quiet.Stop()
	var spare []byte
	gone := sendingEnded(ctx)
	waiting := false // the next events are a sign that more is to come
	for {
		s.mu.Lock()
		batch, ended, failed := s.pending, s.ended, s.err
		s.pending, spare = spare[:0], batch
		s.mu.Unlock()
		if ended && failed != nil {
			if !began && len(batch) == 0 {
				return false, failed
			}
			batch = s.Framing.AppendFailure(batch, FailureOf(failed))
		}
		if len(batch) > 0 {
			if err := s.Write(rc, &began, batch); err != nil {
				return began, err
			}
			if waiting {
				quiet.Reset(s.Next)
			} else {
				quiet.Reset(s.First)
			}
			waiting = false
		}
		if ended {
			return began, failed
		}
		select {
		case <-s.wake:
		case <-quiet.C:
			if s.Wait != nil {
				s.Wait()
				waiting = true
				continue
			}
			if err := s.Write(rc, &began, s.Framing.AppendSilence(nil)); err != nil {
				return began, err
			}
			quiet.Reset(s.Next)
		case <-gone: // perhaps: a write shows whether the client reads
			if gone = nil; !began {
				continue
			}
			if err := s.Write(rc, &began, s.Framing.AppendSilence(nil)); err != nil {
				return began, err
			}
		case <-ctx.Done():
			// The generating side sees the same end and calls End, perhaps with an error for the
			// client. The client is still there in these cases.
			if cause := context.Cause(ctx); cause == ErrRunCancelled ||
				cause == error(ErrStopping) {
				<-s.wake
				continue
			}
			return began, context.Cause(ctx)
		}
	}
}

// Write sends b and flushes it.
func (s *EventStream) Write(rc *http.ResponseController, began *bool, b []byte) error {
	if !*began {
		h := s.w.Header()
		h.Set("Content-Type", s.Framing.ContentType())
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
		*began = true
	}
	for len(b) > 0 {
		n := min(len(b), writeSize)
		_ = rc.SetWriteDeadline(time.Now().Add(ReaderPatience))
		_, err := s.w.Write(b[:n])
		if err == nil {
			err = rc.Flush()
		}
		if err != nil {
			return writeError(err)
		}
		b = b[n:]
	}
	return nil
}
