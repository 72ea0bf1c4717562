package server

import (
	"context"
	"encoding/json"
	"net/http"
)

// progress streams what a long piece of work reports. It ends with the work; a
// client that leaves, and a drain, end the work: its context's cause is errStopping
// then.
func (s *Server) progress(w http.ResponseWriter, r *http.Request, work func(ctx context.Context, send func(event any)) error) error {
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
	defer context.AfterFunc(s.draining, func() { cancel(errStopping) })()
	done := make(chan struct{})
	go func() {
		defer close(done)
		out.end(work(ctx, send))
	}()
	began, err := out.serve(ctx)
	cancel(err) // nobody listens any more
	<-done
	if began {
		s.logDefect(r, err)
		return nil
	}
	return err
}
