package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/storage"
)

// BeginRun stores a new run and returns its id. It implements server.Runs.
func (h *History) BeginRun(ctx context.Context, r control.Run) (int64, error) {
	row, err := h.db.Runs.Begin(ctx, r)
	if err == nil {
		h.finishLate(context.WithoutCancel(ctx)) // they are other requests' runs
	}
	return row.ID, err
}

// FinishRun stores the figures of a run. The tokens at which it parted from another text are
// dropped if no requests are kept. It implements server.Runs.
func (h *History) FinishRun(ctx context.Context, r control.Run) error {
	if h.settings.Current().KeepRequests == control.KeepNone {
		r.Divergence = nil
	}
	err := h.db.Runs.Finish(ctx, r)
	if e, ok := errors.AsType[*storage.Error](err); ok &&
		(e.Code == storage.Busy || e.Code == storage.Full) {
		h.late.add(r)
	}
	return err
}

// maxLate is how many runs are remembered whose end is still to be stored.
const maxLate = 1000

// lateRuns are the runs that ended while the database could not be written.
type lateRuns struct {
	mu   sync.Mutex
	runs []control.Run
}

func (l *lateRuns) add(r control.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs) < maxLate {
		l.runs = append(l.runs, r)
	}
}

// finishLate stores the ends of runs that could not be stored in time.
func (h *History) finishLate(ctx context.Context) {
	h.late.mu.Lock()
	runs := h.late.runs
	h.late.runs = nil
	h.late.mu.Unlock()
	for _, r := range runs {
		if err := h.FinishRun(ctx, r); err != nil {
			h.log.Warn("the end of a run is stored late or not at all", "run", r.ID, "error", err)
		}
	}
}

// DropRun implements server.Runs.
func (h *History) DropRun(ctx context.Context, id int64) error { return h.db.Runs.Drop(ctx, id) }

// Run implements server.Runs.
func (h *History) Run(ctx context.Context, id int64) (control.Run, error) {
	r, err := h.db.Runs.Get(ctx, id)
	if storage.IsNotFound(err) {
		return control.Run{}, &control.Error{Code: control.CodeRunNotFound, Err: err,
			Message: fmt.Sprintf("There is no run %d in the history.", id), Advice: control.ToListRuns}
	}
	return r, err
}

// Runs implements server.Runs. A search finds clients by the names that people are shown, and if titles
// are asked for, the latest runs by theirs.
func (h *History) Runs(ctx context.Context, q control.RunQuery) ([]control.Run, error) {
	if q.Search != "" {
		if err := h.search(ctx, &q); err != nil {
			return nil, err
		}
	}
	runs, _, err := h.db.Runs.List(ctx, q)
	return runs, err
}

// search adds to a query what its text finds in names and titles, which are not stored.
func (h *History) search(ctx context.Context, q *control.RunQuery) error {
	text := strings.ToLower(q.Search)
	has := func(shown string) bool { return strings.Contains(strings.ToLower(shown), text) }
	clients, err := h.db.Runs.Clients(ctx)
	if err != nil {
		return err
	}
	for _, c := range append(clients, storage.SeenClient{}) { // some runs have none
		if has(control.ClientName(c.Client)) {
			q.FoundClients = append(q.FoundClients, c.Client)
		}
	}
	if !q.Titles {
		return nil
	}
	all := *q
	all.Search, all.Sort, all.Limit = "", "", storage.MaxRunsLimit
	latest, _, err := h.db.Runs.List(ctx, all)
	if err != nil {
		return err
	}
	for id, title := range h.RunTitles(ctx, latest) {
		if has(title) {
			q.FoundRuns = append(q.FoundRuns, id)
		}
	}
	return nil
}

// ResumedBy implements server.Runs.
func (h *History) ResumedBy(ctx context.Context, run int64) (int64, error) {
	return h.db.Runs.ResumedBy(ctx, run)
}

// RunValues implements server.Runs.
func (h *History) RunValues(ctx context.Context) (control.RunValues, error) {
	return h.db.Runs.Values(ctx)
}

// KeepVerdict implements server.Runs.
func (h *History) KeepVerdict(ctx context.Context, v control.Replayed) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return h.db.Runs.SetVerdict(ctx, v.Run, text)
}
