package wire

import (
	"context"
	"net/http"
	"runtime/debug"
)

// Progress streams what a long piece of work sends, as JSON, and ends with it. send never waits for the
// client.
func (x *Exchange) Progress(w http.ResponseWriter, r *http.Request,
	work func(ctx context.Context, send func(event any)) error) error {
	out := NewEventStream(w)
	return x.Stream(r, out, func(ctx context.Context) error {
		return work(ctx, func(event any) {
			out.Send(ClipErrors(Encode(event))) // Serve disconnects a reader that is this late
		})
	})
}

// Stream writes to out what work sends, and ends with it. If the client leaves, or a drain begins,
// the work is cancelled. After a drain its context has the cause ErrStopping.
func (x *Exchange) Stream(r *http.Request, out *EventStream, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(x.Draining, func() { cancel(ErrStopping) })()
	done := make(chan struct{})
	go func() {
		defer close(done)
		out.End(x.Survive(func() error { return work(ctx) }))
	}()
	began, err := out.Serve(ctx)
	cancel(err) // no client reads any more
	<-done
	if began {
		x.logDefect(r, err)
		return nil
	}
	return err
}

// Survive does work and turns its panic into its error. In a goroutine of its own the panic would
// end the program.
func (x *Exchange) Survive(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			x.Log.Error("panic while working", "panic", p, "stack", string(debug.Stack()))
			err = ErrPanic
		}
	}()
	return work()
}

// logDefect logs an error that the client does not get in full.
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
