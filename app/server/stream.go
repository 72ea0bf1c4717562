package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"tandem/app/control"
)

const (
	readerPatience = 30 * time.Second // a write that takes longer cuts the client
	maxPending     = 16 << 20         // bytes that may wait behind a write before the client is cut
	writeSize      = 32 << 10         // bytes of one write, so that patience means progress
	quietFirst     = 2 * time.Second  // silence before a client is first told of more to come
	quietNext      = 5 * time.Second  // and between the following
)

var (
	errSlowReader = control.Errorf(control.CodeCancelled, "The client stopped reading; its connection was cut.")
	errClientGone = control.Errorf(control.CodeCancelled, "The client left.")
)

// An eventStream is the writing side of a stream of events. send, sendEvent and
// end may be called by any goroutine and never wait for the client; serve writes,
// on the handler's goroutine.
type eventStream struct {
	w           http.ResponseWriter
	framing     framing
	first, next time.Duration // of silence until the client is told of more to come, and between further times

	mu      sync.Mutex
	pending []byte
	ended   bool
	err     error
	wake    chan struct{} // capacity 1
}

func newEventStream(w http.ResponseWriter) *eventStream {
	return &eventStream{w: w, framing: serverSent{}, first: quietFirst, next: quietNext, wake: make(chan struct{}, 1)}
}

// send queues one event without a name; data holds no newline. It reports false
// once the client has fallen too far behind.
func (s *eventStream) send(data []byte) bool { return s.sendEvent("", data) }

// sendEvent is send of an event with a name, for protocols that have them.
func (s *eventStream) sendEvent(name string, data []byte) bool {
	s.mu.Lock()
	ok := len(s.pending)+len(data) <= maxPending
	if ok {
		s.pending = s.framing.appendEvent(s.pending, name, data)
	}
	s.mu.Unlock()
	s.signal()
	return ok
}

// end closes the stream behind what was sent. An error becomes the last event,
// or the whole answer if nothing was written before it.
func (s *eventStream) end(err error) {
	s.mu.Lock()
	s.ended, s.err = true, err
	s.mu.Unlock()
	s.signal()
}

func (s *eventStream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// serve writes events until the end, or returns the error that stopped it:
// errSlowReader, errClientGone, or ctx's cause. began tells whether a status line is out;
// until then the caller can still answer otherwise.
func (s *eventStream) serve(ctx context.Context) (began bool, err error) {
	rc := http.NewResponseController(s.w)
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	quiet := time.NewTimer(s.first)
	defer quiet.Stop()
	var spare []byte
	for {
		s.mu.Lock()
		batch, ended, failed := s.pending, s.ended, s.err
		s.pending, spare = spare[:0], batch
		s.mu.Unlock()
		if ended && failed != nil {
			if !began && len(batch) == 0 {
				return false, failed
			}
			batch = s.framing.appendFailure(batch, failureOf(failed))
		}
		if len(batch) > 0 {
			if err := s.write(rc, &began, batch); err != nil {
				return began, err
			}
			quiet.Reset(s.first)
		}
		if ended {
			return began, failed
		}
		select {
		case <-s.wake:
		case <-quiet.C:
			if err := s.write(rc, &began, s.framing.appendSilence(nil)); err != nil {
				return began, err
			}
			quiet.Reset(s.next)
		case <-ctx.Done():
			// The generating side sees the same end and calls end, perhaps
			// with words for the client, who is still there in these cases.
			if cause := context.Cause(ctx); cause == errRunCancelled || cause == error(errStopping) {
				<-s.wake
				continue
			}
			return began, context.Cause(ctx)
		}
	}
}

// write sends b and flushes it.
func (s *eventStream) write(rc *http.ResponseController, began *bool, b []byte) error {
	if !*began {
		h := s.w.Header()
		h.Set("Content-Type", s.framing.contentType())
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
		*began = true
	}
	for len(b) > 0 {
		n := min(len(b), writeSize)
		_ = rc.SetWriteDeadline(time.Now().Add(readerPatience))
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
