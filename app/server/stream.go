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
	"tandem/engine"
)

const (
	readerPatience = 30 * time.Second // a write that takes longer cuts the client
	maxPending     = 16 << 20         // bytes that may wait behind a write before the client is cut
	writeSize      = 32 << 10         // bytes of one write, so that patience means progress
	quietFirst     = 2 * time.Second  // silence before the first keep-alive comment
	quietNext      = 5 * time.Second  // and between the following
)

var (
	errSlowReader = control.Errorf(control.CodeCancelled, "The client stopped reading; its connection was cut.")
	errClientGone = control.Errorf(control.CodeCancelled, "The client left.")
)

// An eventStream is the writing side of server-sent events. send and end may
// be called by any goroutine and never wait for the client; serve writes, on
// the handler's goroutine.
type eventStream struct {
	w           http.ResponseWriter
	first, next time.Duration // of silence until a keep-alive comment, and between further ones

	mu      sync.Mutex
	pending []byte
	ended   bool
	err     error
	wake    chan struct{} // capacity 1
}

func newEventStream(w http.ResponseWriter) *eventStream {
	return &eventStream{w: w, first: quietFirst, next: quietNext, wake: make(chan struct{}, 1)}
}

// send queues one event; data holds no newline. It reports false once the
// client has fallen too far behind.
func (s *eventStream) send(data []byte) bool {
	s.mu.Lock()
	ok := len(s.pending)+len(data) <= maxPending
	if ok {
		s.pending = append(s.pending, "data: "...)
		s.pending = append(s.pending, data...)
		s.pending = append(s.pending, "\n\n"...)
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
			batch = append(batch, "data: "...)
			batch = append(batch, failureOf(failed).json()...)
			batch = append(batch, "\n\n"...)
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
			if err := s.write(rc, &began, []byte(": keep-alive\n\n")); err != nil {
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
		h.Set("Content-Type", "text/event-stream")
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

// stream answers in chunks, one event each.
func (s *Server) stream(w http.ResponseWriter, rep *reply) error {
	out := newEventStream(w)
	c := &chunks{rep: rep, out: out, left: len(rep.choices)}
	c.head = rep.appendHead(nil, true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := s.generateAll(rep, c.token, c.end)
		if err == nil {
			c.finish()
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

// chunks turns tokens into events.
type chunks struct {
	rep  *reply
	out  *eventStream
	head []byte

	mu   sync.Mutex
	left int // choices that have not ended
}

// token sends what a token adds, if it adds anything.
func (k *chunks) token(c *choice, t engine.Token) {
	k.begin(c)
	p := k.rep.params
	c.draft.Proposed += t.Drafted
	if t.Draft {
		c.draft.Accepted++
	}
	if t.Text == "" && !p.logprobs && !p.returnTokenIDs {
		return
	}
	k.open(c)
	c.buf = k.rep.form.appendDelta(c.buf, t.Text)
	c.buf = append(c.buf, `,"logprobs":`...)
	if p.logprobs {
		c.buf = k.rep.form.appendLogprobs(c.buf, k.rep.model, c, []engine.Token{t})
	} else {
		c.buf = append(c.buf, "null"...)
	}
	c.buf = append(c.buf, `,"finish_reason":null`...)
	if p.returnTokenIDs {
		c.buf = k.appendPromptIDs(c.buf, c)
		c.buf = appendInts(append(c.buf, `,"token_ids":`...), []int32{t.ID})
	}
	k.close(c, "")
}

// begin sends a choice's first chunk once, if the form has one.
func (k *chunks) begin(c *choice) {
	if c.began {
		return
	}
	k.open(c)
	n := len(c.buf)
	if c.buf = k.rep.form.appendBegin(c.buf, c); len(c.buf) == n {
		return
	}
	c.buf = append(c.buf, `,"logprobs":`...)
	if len(c.scored) > 0 {
		c.buf = k.rep.form.appendLogprobs(c.buf, k.rep.model, c, c.scored)
	} else {
		c.buf = append(c.buf, "null"...)
	}
	c.buf = append(c.buf, `,"finish_reason":null`...)
	if k.rep.params.returnTokenIDs {
		c.buf = k.appendPromptIDs(c.buf, c)
	}
	k.close(c, "")
}

// appendPromptIDs adds the prompt to a choice's first chunk.
func (k *chunks) appendPromptIDs(dst []byte, c *choice) []byte {
	if c.began {
		return dst
	}
	return appendInts(append(dst, `,"prompt_token_ids":`...), c.prompt.ids)
}

// end sends a choice's last chunk. The reply's last one carries the timings,
// unless one with the usage follows.
func (k *chunks) end(c *choice) {
	k.begin(c)
	k.open(c)
	c.buf = k.rep.form.appendEnd(c.buf)
	c.buf = appendString(append(c.buf, `,"logprobs":null,"finish_reason":`...), string(c.finish))
	if k.rep.params.returnTokenIDs {
		c.buf = k.appendPromptIDs(c.buf, c)
		c.buf = append(c.buf, `,"token_ids":[]`...)
	}
	c.draft.rounds = c.rounds()
	k.mu.Lock()
	k.left--
	last := k.left == 0
	k.mu.Unlock()
	if last && !k.rep.params.includeUsage {
		k.close(c, string(appendMember(nil, "timings", k.rep.timings())))
		return
	}
	k.close(c, "")
}

// finish sends what follows the choices.
func (k *chunks) finish() {
	if k.rep.params.includeUsage {
		b := append(append([]byte(nil), k.head...), ']')
		b = appendMember(b, "usage", k.rep.usage())
		b = appendMember(b, "timings", k.rep.timings())
		k.send(append(b, '}'))
	}
	k.rep.release()
	k.send([]byte("[DONE]"))
}

// open starts an event with one choice in the choice's buffer.
func (k *chunks) open(c *choice) {
	c.buf = append(append(c.buf[:0], k.head...), `{"index":`...)
	c.buf = append(strconv.AppendInt(c.buf, int64(c.index), 10), ',')
}

// close sends the event; extra are members after the choices.
func (k *chunks) close(c *choice, extra string) {
	if k.rep.params.returnDrafts {
		c.buf = appendMember(c.buf, "draft", c.draft)
		c.draft = draftInfo{}
	}
	c.buf = append(append(c.buf, "}]"...), extra...)
	if k.rep.params.includeUsage {
		c.buf = append(c.buf, `,"usage":null`...)
	}
	c.buf = append(c.buf, '}')
	c.began = true
	k.send(c.buf)
}

func (k *chunks) send(b []byte) {
	if !k.out.send(b) {
		k.rep.run.cancel(errSlowReader)
	}
}
