package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
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

// patiently answers by write and sees that it arrives, which may take the
// client as long as patience lasts.
func patiently(w http.ResponseWriter, write func() error) error {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(readerPatience))
	// The connection's next answer must not inherit this one's deadline.
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	err := write()
	return writeError(errors.Join(err, rc.Flush()))
}

// writeWhole sends a body whose Content-Type is set.
func writeWhole(w http.ResponseWriter, status int, b []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	return patiently(w, func() error {
		w.WriteHeader(status)
		_, err := w.Write(b)
		return err
	})
}

// writeError says what a failed write means.
func writeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlowReader
	}
	return errClientGone
}

// stream answers in events. The client is told of a long wait for the model, too, whose
// failure is an answer of its own until then. equip runs what it is given with all that
// the reply needs.
func (s *Server) stream(w http.ResponseWriter, rep *reply, equip func(generate func() error) error) error {
	out := newEventStream(w)
	out.framing = rep.form
	done := make(chan struct{})
	go func() {
		defer close(done)
		var pieces events
		begin := func() {
			rep.id = newID(rep.form.idPrefix())
			pieces = rep.form.stream(rep, out)
		}
		err := s.survive(func() error {
			return equip(func() error {
				begin()
				if err := s.generateAll(rep, pieces); err != nil {
					return err
				}
				pieces.finish()
				return nil
			})
		})
		if pieces == nil { // some forms tell of a failure as that of a reply
			begin()
		}
		out.end(err)
	}()
	began, err := out.serve(rep.run.ctx)
	rep.run.began = began
	if err != nil {
		rep.run.cancel(err)
	}
	<-done
	return err
}
