package server

import (
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

func (s *Server) history(w http.ResponseWriter, r *http.Request) error {
	q, err := runQuery(r)
	if err != nil {
		return err
	}
	list, err := s.services.Runs.Runs(r.Context(), q)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, runs{append([]control.Run{}, list...)})
}

// queryNumber reads a number of an address, 0 if it is not there.
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

// runQuery reads what the history is narrowed by.
func runQuery(r *http.Request) (q control.RunQuery, err error) {
	query := r.URL.Query()
	limit, err := queryNumber(query, "limit", 1000)
	if err != nil {
		return q, err
	}
	if q.Before, err = queryNumber(query, "before", 1<<62); err != nil {
		return q, err
	}
	q.Limit = int(limit)
	texts := q.Texts()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if *texts[name] = query.Get(name); len(*texts[name]) > control.MaxRunText {
			return q, wire.Invalid(name, "%s may have at most %d bytes.", name, control.MaxRunText)
		}
	}
	if _, err := time.Parse(time.DateOnly, q.Day); q.Day != "" && err != nil {
		return q, wire.Invalid("day", "day must be a day such as 2026-11-22, not %q.", wire.Clip(q.Day))
	}
	if since := query.Get("since"); since != "" {
		if q.Since, err = time.Parse(time.RFC3339, since); err != nil {
			return q, wire.Invalid("since", "since must be a time such as 2026-11-22T09:00:00Z, not %q.", wire.Clip(since))
		}
	}
	q.Failed = query.Get("failed") == "true"
	return q, nil
}

func (s *Server) runValues(w http.ResponseWriter, r *http.Request) error {
	v, err := s.services.Runs.RunValues(r.Context())
	if err != nil {
		return err
	}
	for _, list := range []*[]string{&v.Models, &v.Clients, &v.Endpoints, &v.Finishes, &v.Days} {
		*list = append([]string{}, *list...) // none is a list too
	}
	return wire.WriteJSON(w, v)
}

// namedRun returns the run of a route's id.
func (s *Server) namedRun(r *http.Request) (control.Run, error) {
	id, err := api.RunID(r)
	if err != nil {
		return control.Run{}, err
	}
	return s.services.Runs.Run(r.Context(), id)
}

func (s *Server) oneRun(w http.ResponseWriter, r *http.Request) error {
	run, err := s.namedRun(r)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, run)
}

func (s *Server) report(w http.ResponseWriter, r *http.Request) error {
	run, err := s.namedRun(r)
	if err != nil {
		return err
	}
	report, err := control.NewReport(run)
	if err != nil {
		return err
	}
	if run.FinishReason == control.FinishInterrupted {
		if report.ResumedBy, err = s.services.Runs.ResumedBy(r.Context(), run.ID); err != nil {
			return err
		}
	}
	return wire.WriteJSON(w, report)
}

// cancel ends a run, as a person wants it. With left it says that whoever read its answer
// has gone, which a connection alone does not always tell, and answers once there is no
// such run in flight any more.
func (s *Server) cancel(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	left := f.Bool("left")
	if f.Err != nil {
		return f.Err
	}
	id := r.PathValue("id")
	if !left {
		if !s.CancelRun(id) {
			return control.Errorf(control.CodeRunNotFound, "No run %s is in flight.", wire.Clip(id))
		}
		return wire.WriteJSON(w, struct{}{})
	}
	for _, u := range s.EndRuns(id, wire.ErrClientGone) {
		select { // whoever comes back may resume it at once
		case <-u.Ended:
		case <-r.Context().Done():
		}
	}
	return wire.WriteJSON(w, struct{}{})
}
