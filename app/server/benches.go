package server

import (
	"context"
	"net/http"

	"tandem/app/api"
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

// benchRoutes answer for Benches.
type benchRoutes struct {
	Benches
	api *api.API
}

func addBenches(to *controlRoutes, of Benches) {
	handle(to, control.ListBenches, ask(of.Benches))
	stream(to, control.RunBench, benchRoutes{of, to.api}.run)
	handle(to, control.CancelBench, done(func(ctx context.Context, _ control.None) error {
		return of.CancelBench(ctx)
	}))
	handle(to, control.DeleteBench, done(of.DeleteBench))
}

// run streams the progress of a bench. The last event has the result or the error. The bench ends
// when its client leaves, unless the request asks it to stay. Other clients then follow it by GET.
func (b benchRoutes) run(w http.ResponseWriter, r *http.Request, q control.BenchRequest) error {
	return b.api.Progress(w, r, func(ctx context.Context, send func(any)) error {
		if q.Stay {
			var end context.CancelCauseFunc
			ctx, end = context.WithCancelCause(context.WithoutCancel(ctx))
			defer end(nil)
			defer context.AfterFunc(b.api.Draining, func() { end(wire.ErrStopping) })()
		}
		bench, err := b.RunBench(ctx, func(p control.BenchProgress) { send(p) })
		if err == nil {
			send(control.BenchProgress{Bench: &bench})
		}
		return err
	})
}
