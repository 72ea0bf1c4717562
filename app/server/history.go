package server

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// runs is the body of GET /app/runs.
type runs struct {
	Runs []control.Run `json:"runs"`
}

func (s *Server) history(ctx context.Context, q runQuery) (runs, error) {
	list, err := s.services.Runs.Runs(ctx, control.RunQuery(q))
	return runs{listOf(list)}, err
}

// queryNumber reads a number from the query of an address. It is 0 if it is absent.
func queryNumber(query url.Values, name string, most int64) (int64, error) {
	v := query.Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, wire.Invalid(name, "%s must be a whole number between 0 and %d.", name, most)
	}
	return n, nil
}

// A runQuery has the filters of the history.
type runQuery control.RunQuery

func (q *runQuery) readAddress(r *http.Request) error {
	query := r.URL.Query()
	limit, err := queryNumber(query, "limit", 1000)
	if err != nil {
		return err
	}
	if q.Before, err = queryNumber(query, "before", 1<<62); err != nil {
		return err
	}
	q.Limit = int(limit)
	texts := (*control.RunQuery)(q).Texts()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if *texts[name] = query.Get(name); len(*texts[name]) > control.MaxRunText {
			return wire.Invalid(name, "%s may have at most %d bytes.", name, control.MaxRunText)
		}
	}
	if _, err := time.Parse(time.DateOnly, q.Day); q.Day != "" && err != nil {
		return wire.Invalid("day",
			"day must be a day such as 2026-11-22, not %q.", wire.Clip(q.Day))
	}
	if since := query.Get("since"); since != "" {
		if q.Since, err = time.Parse(time.RFC3339, since); err != nil {
			return wire.Invalid("since",
				"since must be a time such as 2026-11-22T09:00:00Z, not %q.", wire.Clip(since))
		}
	}
	q.Failed = query.Get("failed") == "true"
	q.Slow = query.Get("slow") == "true"
	q.Sort, q.Up = query.Get("sort"), query.Get("up") == "true"
	if q.Sort != "" && !slices.Contains(control.RunOrders, q.Sort) {
		return wire.Invalid("sort", "sort must be %s, not %q.", control.Words(control.RunOrders),
			wire.Clip(q.Sort))
	}
	return nil
}

func (s *Server) runValues(ctx context.Context) (control.RunValues, error) {
	v, err := s.services.Runs.RunValues(ctx)
	for _, list := range []*[]string{&v.Models, &v.Clients, &v.Endpoints, &v.Finishes, &v.Days} {
		*list = listOf(*list)
	}
	return v, err
}

// activityMinutes is the length of time that an activity is asked for.
type activityMinutes int

func (m *activityMinutes) readAddress(r *http.Request) error {
	n, err := strconv.Atoi(r.URL.Query().Get("minutes"))
	if err != nil || n < control.MinActivity || n > control.MaxActivity {
		return wire.Invalid("minutes", "minutes must be a whole number between %d and %d.",
			control.MinActivity, control.MaxActivity)
	}
	*m = activityMinutes(n)
	return nil
}

func (s *Server) activity(ctx context.Context, minutes activityMinutes) (control.Activity, error) {
	return s.services.Runs.Activity(ctx, int(minutes), s.api.Active())
}

func (s *Server) insights(ctx context.Context) (control.Insights, error) {
	v, err := s.services.Runs.Insights(ctx)
	v.Slow = listOf(v.Slow)
	return v, err
}

// A runID is the id of a run in a path.
type runID int64

func (u *runID) readAddress(r *http.Request) error {
	id, err := api.RunID(r)
	*u = runID(id)
	return err
}

func (s *Server) oneRun(ctx context.Context, id runID) (control.Run, error) {
	return s.services.Runs.Run(ctx, int64(id))
}

func (s *Server) report(ctx context.Context, id runID) (report control.Report, err error) {
	run, err := s.services.Runs.Run(ctx, int64(id))
	if err != nil {
		return report, err
	}
	if report, err = control.NewReport(run); err != nil {
		return report, err
	}
	if run.FinishReason == control.FinishInterrupted {
		report.ResumedBy, err = s.services.Runs.ResumedBy(ctx, run.ID)
	}
	if !run.EndedAt.IsZero() {
		report.Parting = s.services.Runs.Parting(ctx, run)
	}
	return report, err
}

// A cancelRequest names a run in flight.
type cancelRequest struct {
	pathID
	Left bool `json:"left"` // the program that read its answer has gone
}

// cancel ends a run on a person's behalf. With left, the request reports that the program that read
// the answer has gone. A connection alone does not always show that. The answer then comes once no
// such run is in flight.
func (s *Server) cancel(ctx context.Context, q cancelRequest) (nothing, error) {
	if !q.Left {
		if !s.api.CancelRun(q.id) {
			return nothing{}, control.Errorf(control.CodeRunNotFound, "No run %s is in flight.",
				wire.Clip(q.id))
		}
		return nothing{}, nil
	}
	for _, u := range s.api.EndRuns(q.id, wire.ErrClientGone) {
		select { // a client that comes back may resume it at once
		case <-u.Ended:
		case <-ctx.Done():
		}
	}
	return nothing{}, nil
}
