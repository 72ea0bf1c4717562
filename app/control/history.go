package control

import (
	"maps"
	"slices"
	"time"
)

// RunOrders are what runs can be sorted by.
var RunOrders = []string{"when", "client", "prompt", "ready", "answer", "speed", "time"}

// FinishRunning selects runs in flight in a RunQuery.
const FinishRunning = "running"

// MaxRunText bounds each text of a RunQuery, in bytes.
const MaxRunText = 256

// RunTexts returns the text fields of a query by their names in a URL.
func RunTexts(q *RunQuery) map[string]*string {
	return map[string]*string{"model": &q.Model, "client": &q.Client, "endpoint": &q.Endpoint,
		"finish": &q.Finish, "day": &q.Day, "search": &q.Search}
}

func runQuery(q *RunQuery, p *params) {
	queryNumber(p, "limit", &q.Limit, 1000)
	queryNumber(p, "before", &q.Before, 1<<62)
	texts := RunTexts(q)
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
	p.flag("titles", &q.Titles)
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

	// Titles are the first words of what a person said last in each prompt, by the run's id, where the text
	// is kept. A query has to ask for them.
	Titles map[int64]string `json:"titles,omitempty"`
}

// CancelRequest is the body of POST /app/runs/{id}/cancel.
type CancelRequest struct {
	Run  string `json:"-"`              // its id, or the name that its client gave it
	Left bool   `json:"left,omitempty"` // the program that read its answer has gone
}

func (r *CancelRequest) params(p *params) { p.path("id", &r.Run) }
