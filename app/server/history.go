package server

import (
	"context"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// Runs keep the history. The server logs their errors, which never fail a request.
type Runs interface {
	api.Runs
	// ResumedBy returns the id of the run that completed this run's answer, or 0.
	ResumedBy(ctx context.Context, run int64) (int64, error)
	// Runs lists finished and running runs, newest first, without their Speculation.
	Runs(ctx context.Context, q control.RunQuery) ([]control.Run, error)
	// RunTitles names runs by the first words of their prompts, as far as these are kept.
	RunTitles(ctx context.Context, runs []control.Run) map[int64]string
	// RunValues lists the values by which Runs can be narrowed.
	RunValues(ctx context.Context) (control.RunValues, error)
	// Divergence returns the words around the place where the prompt of a run parts from an earlier
	// text, nil if it does not part.
	Divergence(ctx context.Context, r control.Run) *control.DivergenceText
	// Activity tells how many tokens were read and written in so many minutes up to now. active are
	// the runs that were in flight just before.
	Activity(ctx context.Context, minutes int, active []control.Active) (control.Activity, error)
	// Insights tells what the requests of today took, and why some were slow.
	Insights(ctx context.Context) (control.Insights, error)
}

// historyRoutes answer for Runs.
type historyRoutes struct {
	Runs
	api *api.API
}

func addHistory(to *controlRoutes, of Runs) {
	h := historyRoutes{of, to.api}
	handle(to, control.ListRuns, h.list)
	handle(to, control.ListRunValues, ask(of.RunValues))
	handle(to, control.GetActivity, h.activity)
	handle(to, control.GetInsights, ask(of.Insights))
	handle(to, control.GetRun, of.Run)
	handle(to, control.GetRunReport, h.report)
	handle(to, control.CancelRun, done(h.cancel))
}

func (h historyRoutes) list(ctx context.Context, q control.RunQuery) (control.RunList, error) {
	runs, err := h.Runs.Runs(ctx, q)
	list := control.RunList{Runs: runs}
	if err == nil && q.Titles {
		list.Titles = h.RunTitles(ctx, runs)
	}
	return list, err
}

func (h historyRoutes) activity(ctx context.Context, minutes int) (control.Activity, error) {
	return h.Activity(ctx, minutes, h.api.Active())
}

func (h historyRoutes) report(ctx context.Context,
	id int64) (report control.Report, err error) {
	run, err := h.Run(ctx, id)
	if err != nil {
		return report, err
	}
	if report, err = control.NewReport(run); err != nil {
		return report, err
	}
	if run.FinishReason == control.FinishInterrupted {
		report.ResumedBy, err = h.ResumedBy(ctx, run.ID)
	}
	if !run.EndedAt.IsZero() {
		report.Divergence = h.Divergence(ctx, run)
	}
	return report, err
}

// cancel ends a run on a person's behalf. With left, the request reports that the program that read
// the answer has gone. A connection alone does not always show that. The answer then comes once no
// such run is in flight.
func (h historyRoutes) cancel(ctx context.Context, q control.CancelRequest) error {
	if !q.Left {
		if !h.api.CancelRun(q.Run) {
			return control.Errorf(control.CodeRunNotFound, "No run %s is in flight.",
				wire.Clip(q.Run))
		}
		return nil
	}
	for _, u := range h.api.EndRuns(q.Run, wire.ErrClientGone) {
		select { // a client that comes back may resume it at once
		case <-u.Ended:
		case <-ctx.Done():
		}
	}
	return nil
}
