package wire

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"
)

// Progress streams what a long piece of work reports. It ends with the work; a
// client that leaves, and a drain, end the work: its context's cause is errStopping
// then.
func (x *Exchange) Progress(w http.ResponseWriter, r *http.Request, work func(ctx context.Context, send func(event any)) error) error {
	out := NewEventStream(w)
	send := func(event any) {
		b, err := json.Marshal(event)
		if err != nil {
			panic(err) // numbers and strings only
		}
		out.Send(b) // Serve cuts a reader that is this late
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(x.Draining, func() { cancel(ErrStopping) })()
	done := make(chan struct{})
	go func() {
		defer close(done)
		out.End(x.Survive(func() error { return work(ctx, send) }))
	}()
	began, err := out.Serve(ctx)
	cancel(err) // no client listens any more
	<-done
	if began {
		x.logDefect(r, err)
		return nil
	}
	return err
}

// Survive does work whose panic is its error: in a goroutine of its own it would be
// the end of the program.
func (x *Exchange) Survive(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			x.Log.Error("panic while working", "panic", p, "stack", string(debug.Stack()))
			err = ErrPanic
		}
	}()
	return work()
}

// logDefect writes down an error that the client is not told in full.
func (x *Exchange) logDefect(r *http.Request, err error) {
	if err != nil && FailureOf(err).Status == http.StatusInternalServerError {
		x.Log.Error("request failed", "path", r.URL.Path, "err", err)
	}
}

// Fail answers with err.
func (x *Exchange) Fail(w http.ResponseWriter, r *http.Request, err error) {
	x.logDefect(r, err)
	FailureOf(err).Write(w, ProtocolOf(r))
}
