package control

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
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

// Runs lists the history, the newest run first.
func (c *Client) Runs(ctx context.Context, q RunQuery) ([]Run, error) {
	v := url.Values{}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Before != 0 {
		v.Set("before", strconv.FormatInt(q.Before, 10))
	}
	for name, text := range q.Texts() {
		if *text != "" {
			v.Set(name, *text)
		}
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if q.Failed {
		v.Set("failed", "true")
	}
	if q.Slow {
		v.Set("slow", "true")
	}
	if q.Sort != "" {
		v.Set("sort", q.Sort)
	}
	if q.Up {
		v.Set("up", "true")
	}
	list, err := call[struct{ Runs []Run }](ctx, c, http.MethodGet, "/app/runs?"+v.Encode(), nil)
	return list.Runs, err
}

// RunValues returns the values that Runs can be narrowed by.
func (c *Client) RunValues(ctx context.Context) (RunValues, error) {
	return call[RunValues](ctx, c, http.MethodGet, "/app/runs/values", nil)
}
