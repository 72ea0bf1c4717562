package server

import (
	"context"
	"net/http"
	"strconv"

	"tandem/app/control"
	"tandem/app/wire"
)

// Benches measure the model on this machine.
type Benches interface {
	// Benches lists those that were kept, the newest first.
	Benches(context.Context) (control.Benches, error)
	// RunBench measures the choice, loading it first if it must, for about two
	// minutes in which it stands back for requests, and keeps the result. progress
	// is called on a goroutine of its own. CodeModelBusy while another one runs.
	RunBench(ctx context.Context, progress func(control.BenchProgress)) (control.Bench, error)
	// CancelBench ends the one that runs, with CodeCancelled, or is CodeNoBench.
	CancelBench(context.Context) error
	// DeleteBench forgets one, or is CodeNoBench.
	DeleteBench(ctx context.Context, id int64) error
}

func (s *Server) benches(w http.ResponseWriter, r *http.Request) error {
	list, err := s.services.Benches.Benches(r.Context())
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, list)
}

// runBench streams the progress of a bench; its last event has what was measured,
// or the error. It ends with its client, unless it is to stay: then others follow it
// by GET.
func (s *Server) runBench(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	q := control.BenchRequest{Stay: f.Bool("stay")}
	if f.Err != nil {
		return f.Err
	}
	return s.Progress(w, r, func(ctx context.Context, send func(any)) error {
		if q.Stay {
			var end context.CancelCauseFunc
			ctx, end = context.WithCancelCause(context.WithoutCancel(ctx))
			defer end(nil)
			defer context.AfterFunc(s.Draining, func() { end(wire.ErrStopping) })()
		}
		b, err := s.services.Benches.RunBench(ctx, func(p control.BenchProgress) { send(p) })
		if err == nil {
			send(control.BenchProgress{Bench: &b})
		}
		return err
	})
}

func (s *Server) cancelBench(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.ReadObject(w, r); err != nil {
		return err
	}
	if err := s.services.Benches.CancelBench(r.Context()); err != nil {
		return err
	}
	return wire.WriteJSON(w, struct{}{})
}

func (s *Server) deleteBench(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return control.Errorf(control.CodeNoBench, "%q is no bench's id; a bench's id is a number.", wire.Clip(r.PathValue("id")))
	}
	if err := s.services.Benches.DeleteBench(r.Context(), id); err != nil {
		return err
	}
	return wire.WriteJSON(w, struct{}{})
}
