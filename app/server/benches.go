package server

import (
	"context"
	"net/http"

	"tandem/app/control"
	"tandem/app/wire"
)

// Benches measure the model on this machine.
type Benches interface {
	// Benches lists the benches that were kept, the newest first.
	Benches(context.Context) (control.Benches, error)
	// RunBench measures the chosen model for some minutes and keeps the result. It loads the
	// model first if needed, and gives way to requests. It calls progress on a goroutine of its
	// own. The error is CodeModelBusy while another bench runs.
	RunBench(ctx context.Context, progress func(control.BenchProgress)) (control.Bench, error)
	// CancelBench ends the running bench with CodeCancelled. The error is CodeNoBench if none runs.
	CancelBench(context.Context) error
	// DeleteBench deletes a bench. The error is CodeNoBench if it is unknown.
	DeleteBench(ctx context.Context, id int64) error
}

// runBench streams the progress of a bench. The last event has the result or the error. The bench
// ends when its client leaves, unless the request asks it to stay. Other clients then follow it by
// GET.
func (s *Server) runBench(w http.ResponseWriter, r *http.Request) error {
	q, err := read[control.BenchRequest](s, w, r)
	if err != nil {
		return err
	}
	return s.api.Progress(w, r, func(ctx context.Context, to wire.Reports) error {
		if q.Stay {
			var end context.CancelCauseFunc
			ctx, end = context.WithCancelCause(context.WithoutCancel(ctx))
			defer end(nil)
			defer context.AfterFunc(s.api.Draining, func() { end(wire.ErrStopping) })()
		}
		b, err := s.services.Benches.RunBench(ctx, func(p control.BenchProgress) { to.Send(p) })
		if err == nil {
			to.Send(control.BenchProgress{Bench: &b})
		}
		return err
	})
}

func (s *Server) cancelBench(ctx context.Context, _ nothing) (nothing, error) {
	return nothing{}, s.services.Benches.CancelBench(ctx)
}

func (s *Server) deleteBench(ctx context.Context, id benchID) (nothing, error) {
	return nothing{}, s.services.Benches.DeleteBench(ctx, int64(id))
}

func (s *Server) benches(ctx context.Context) (control.Benches, error) {
	return s.services.Benches.Benches(ctx)
}
