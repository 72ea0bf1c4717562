package control

import (
	"maps"
	"slices"
	"time"
)

// RunQuery narrows GET /app/runs. The zero value means the newest 100. Each field that is not empty
// narrows it.
type RunQuery struct {
	Limit  int   // at most 1000; 0 = 100
	Before int64 // runs older than this id

	Model, Client, Endpoint string // exact; a client without its version stands for all versions
	Finish                  string // finish reason, or FinishRunning
	Day                     string // of the start, as YYYY-MM-DD, where the server is
	Search                  string // in those, the drafter, the error and the time of the start; case does not matter

	Since  time.Time // only runs that began then or later; zero = all
	Failed bool      // only runs that failed or were interrupted
	// only runs that took more than twice the median of their client, or that read most of a known
	// prompt again
	Slow bool

	// Sort is one of RunOrders; empty = the newest first. The largest value comes first, or the
	// smallest with Up. Before counts runs to leave out then.
	Sort string
	Up   bool
}

// RunOrders are what runs can be sorted by.
var RunOrders = []string{"when", "client", "prompt", "ready", "answer", "speed", "time"}

// FinishRunning stands for runs in flight in a RunQuery.
const FinishRunning = "running"

// MaxRunText bounds each text of a RunQuery, in bytes.
const MaxRunText = 256

// RunValues is the answer of GET /app/runs/values: the values that occur in the fields of a
// RunQuery. Each list has at most a hundred, the latest first.
type RunValues struct {
	Models    []string `json:"models"`
	Clients   []string `json:"clients"`
	Endpoints []string `json:"endpoints"`
	Finishes  []string `json:"finishes"` // of runs that have ended
	Days      []string `json:"days"`
}

// Texts returns the text fields by their names in a URL's query.
func (q *RunQuery) Texts() map[string]*string {
	return map[string]*string{"model": &q.Model, "client": &q.Client, "endpoint": &q.Endpoint,
		"finish": &q.Finish, "day": &q.Day, "search": &q.Search}
}

func (q *RunQuery) params(p *params) {
	queryNumber(p, "limit", &q.Limit, 1000)
	queryNumber(p, "before", &q.Before, 1<<62)
	texts := q.Texts()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if p.query(name, texts[name]); len(*texts[name]) > MaxRunText {
			p.invalid(name, "%s may have at most %d bytes.", Word(name), MaxRunText)
		}
	}
	if _, err := time.Parse(time.DateOnly, q.Day); q.Day != "" && err != nil {
		p.invalid("day", "%s must be a day such as 2026-11-22, not %q.", Word("day"),
			Shorten(q.Day, maxShown))
	}
	since := ""
	if !q.Since.IsZero() {
		since = q.Since.UTC().Format(time.RFC3339Nano)
	}
	if p.query("since", &since); since != "" {
		var err error
		if q.Since, err = time.Parse(time.RFC3339, since); err != nil {
			p.invalid("since", "%s must be a time such as 2026-11-22T09:00:00Z, not %q.",
				Word("since"), Shorten(since, maxShown))
		}
	}
	p.flag("failed", &q.Failed)
	p.flag("slow", &q.Slow)
	p.query("sort", &q.Sort)
	p.flag("up", &q.Up)
	if q.Sort != "" && !slices.Contains(RunOrders, q.Sort) {
		p.invalid("sort", "%s must be %s, not %q.", Word("sort"), Words(RunOrders),
			Shorten(q.Sort, maxShown))
	}
}

// RunList is the answer of GET /app/runs.
type RunList struct {
	Runs []Run `json:"runs"` // the newest first, unless the query sorts them
}

// CancelRequest is the body of POST /app/runs/{id}/cancel.
type CancelRequest struct {
	Run  string `json:"-"`              // its id, or the name that its client gave it
	Left bool   `json:"left,omitempty"` // the program that read its answer has gone
}

func (r *CancelRequest) params(p *params) { p.path("id", &r.Run) }
