package server

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"
)

// progress streams what a long piece of work reports. It ends with the work; a
// client that leaves, and a drain, end the work: its context's cause is errStopping
// then.
func (x *Exchange) progress(w http.ResponseWriter, r *http.Request, work func(ctx context.Context, send func(event any)) error) error {
	out := newEventStream(w)
	send := func(event any) {
		b, err := json.Marshal(event)
		if err != nil {
			panic(err) // numbers and strings only
		}
		out.send(b) // a reader this far behind is cut by serve
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(x.draining, func() { cancel(errStopping) })()
	done := make(chan struct{})
	go func() {
		defer close(done)
		out.end(x.survive(func() error { return work(ctx, send) }))
	}()
	began, err := out.serve(ctx)
	cancel(err) // nobody listens any more
	<-done
	if began {
		x.logDefect(r, err)
		return nil
	}
	return err
}

// survive does work whose panic is its error: in a goroutine of its own it would be
// the end of the program.
func (x *Exchange) survive(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			x.log.Error("panic while working", "panic", p, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return work()
}

// logDefect writes down an error that the client is not told in full.
func (x *Exchange) logDefect(r *http.Request, err error) {
	if err != nil && failureOf(err).status == http.StatusInternalServerError {
		x.log.Error("request failed", "path", r.URL.Path, "err", err)
	}
}

// fail answers with err.
func (x *Exchange) fail(w http.ResponseWriter, r *http.Request, err error) {
	x.logDefect(r, err)
	failureOf(err).write(w, protocolOf(r))
}
