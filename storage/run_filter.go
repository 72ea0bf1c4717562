package storage

import (
	"context"
	"strings"
	"time"
)

const (
	DefaultRunsLimit = 100
	MaxRunsLimit     = 1000
)

// MaxRunValues is how many values of one column RunValues lists at most.
const MaxRunValues = 100

// FinishRunning selects runs in flight where runs are selected by their finish reason.
const FinishRunning = "running"

// FinishError is the finish reason of runs that failed.
const FinishError = "error"

// A RunFilter selects runs. The zero value selects the newest runs; each field that is not empty
// narrows the selection.
type RunFilter struct {
	Limit  int   // DefaultRunsLimit if 0, at most MaxRunsLimit
	Before int64 // cursor: only runs with a smaller id

	Model, Client, Endpoint string // exact
	Finish                  string // finish reason, or FinishRunning
	Day                     string // of the start, as YYYY-MM-DD, in local time
	// in any text column, or in the time of the start, without regard to case
	Search string

	Since  time.Time // earliest start; zero = any
	Failed bool      // only runs that failed or were interrupted
}

// where is the condition on runs.
func (f RunFilter) where() (string, []any) {
	list, args := []string{"1"}, []any{}
	and := func(condition, arg string) {
		if arg != "" {
			list, args = append(list, condition), append(args, arg)
		}
	}
	and("model = ?", f.Model)
	and("client = ?", f.Client)
	and("endpoint = ?", f.Endpoint)
	and("iif(ended_at IS NULL, '"+FinishRunning+"', finish_reason) = ?", f.Finish)
	and(day("started_at")+" = ?", f.Day)
	and("instr(lower(concat_ws(char(10), client, endpoint, model, drafter, finish_reason, error, message, started_at)), lower(?)) > 0",
		f.Search)
	if f.Before != 0 {
		list, args = append(list, "id < ?"), append(args, f.Before)
	}
	if !f.Since.IsZero() {
		list, args = append(list, "started_at >= ?"), append(args, stamp(f.Since))
	}
	if f.Failed {
		list = append(list, "finish_reason IN ('"+FinishError+"', '"+FinishInterrupted+"')")
	}
	return strings.Join(list, " AND "), args
}

// Runs returns the selected runs, the newest first and without Speculation. next is the cursor to
// pass as Before for the next page, 0 at the end. Error: [Invalid] for a negative limit or cursor.
func (db *DB) Runs(ctx context.Context, f RunFilter) (runs []Run, next int64, err error) {
	const op = "list runs"
	if f.Limit < 0 || f.Before < 0 {
		return nil, 0, &Error{Code: Invalid, Op: op,
			Message: "limit and cursor may not be negative"}
	}
	limit := min(f.Limit, MaxRunsLimit)
	if limit == 0 {
		limit = DefaultRunsLimit
	}
	where, args := f.where()
	// The query asks for one row more, to know whether there is a next page.
	rows, err := db.r.QueryContext(ctx,
		"SELECT id, started_at, "+runFigures+", '', "+runTexts+" FROM runs WHERE "+where+" ORDER BY id DESC LIMIT ?",
		append(args, limit+1)...)
	if err != nil {
		return nil, 0, db.wrap(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRun(rows)
		if err != nil {
			return nil, 0, db.wrap(op, err)
		}
		runs = append(runs, r)
	}
	if err := rows.Err(); err != nil {
		return nil, 0, db.wrap(op, err)
	}
	if len(runs) > limit {
		runs = runs[:limit]
		next = runs[limit-1].ID
	}
	return runs, next, nil
}

// RunValues are the values to select runs by: all values of each column, the latest first, at most
// MaxRunValues.
type RunValues struct {
	Models, Clients, Endpoints, Finishes, Days []string
}

// RunValues returns the values of the history.
func (db *DB) RunValues(ctx context.Context) (v RunValues, err error) {
	for _, c := range []struct {
		column string
		values *[]string
	}{
		{"model", &v.Models}, {"client", &v.Clients}, {"endpoint", &v.Endpoints}, {"finish_reason", &v.Finishes}, {day("started_at"), &v.Days},
	} {
		if *c.values, err = db.texts(ctx,
			"SELECT "+c.column+" AS value FROM runs WHERE value <> '' GROUP BY value ORDER BY max(id) DESC LIMIT ?",
			MaxRunValues); err != nil {
			return RunValues{}, db.wrap("list what runs differ in", err)
		}
	}
	return v, nil
}

// texts returns the only column of a query.
func (db *DB) texts(ctx context.Context, query string, args ...any) (list []string, err error) {
	rows, err := db.r.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}
