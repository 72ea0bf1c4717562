package storage

import (
	"context"
	"encoding/json"
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

// RunOrders are what runs can be sorted by: the expression of each order.
var RunOrders = map[string]string{
	"when":   "id",
	"client": "client COLLATE NOCASE",
	"prompt": "prompt_tokens",
	"ready":  "iif(prompt_tokens > 0, 1.0 * cached_tokens / prompt_tokens, -1)",
	"answer": "completion_tokens",
	"speed":  "iif(first_token_ms > 0 AND completion_tokens > 1 AND total_ms > first_token_ms, (completion_tokens - 1) / (total_ms - first_token_ms), -1)",
	"time":   "iif(ended_at IS NULL, -1, total_ms)",
}

// runOrder returns the ORDER BY of runs.
func runOrder(f RunQuery) string {
	by, ok := RunOrders[f.Sort]
	if !ok {
		return "id DESC"
	}
	if f.Up {
		return by + ", id DESC"
	}
	return by + " DESC, id DESC"
}

// slow is the condition on runs that are slow: they took more than twice the median of their client,
// or read again what their program had sent before. A client has its version, because runs have an
// index of clients. An agent whose prompts always part early has no
// run that is slower than the others.
const slow = "(" + slowForClient + " OR " + readAgain + ")"

// medianRuns is how many runs of each client, the newest, its median is of.
const medianRuns = "1000"

// slowForClient finds the slow runs of each client by the index of its times. In-flight runs have
// none.
const slowForClient = `id IN (
	WITH RECURSIVE clients(client) AS (
		SELECT min(client) FROM runs
		UNION ALL SELECT (SELECT min(client) FROM runs r WHERE r.client > c.client)
			FROM clients c WHERE c.client IS NOT NULL),
	medians AS MATERIALIZED (SELECT client, (
		SELECT total_ms FROM (
			SELECT total_ms, row_number() OVER (ORDER BY total_ms) AS place, count(*) OVER () AS count FROM (
				SELECT total_ms FROM runs r WHERE r.client = c.client AND r.ended_at IS NOT NULL ORDER BY r.id DESC LIMIT ` + medianRuns + `))
		WHERE place = (count + 1) / 2) AS ms FROM clients c WHERE client IS NOT NULL)
	SELECT r.id FROM medians m CROSS JOIN runs r WHERE r.client = m.client AND r.total_ms > 2 * m.ms)`

// readAgain is true for a run whose prompt parts from an earlier one of its program, and that read
// most of the prompt for at least a second. A run is not slow for what a person said newly.
const readAgain = `(parted <> '' AND prefill_ms - restore_ms >= 1000
	AND prompt_tokens - cached_tokens >= 256 AND 2 * (prompt_tokens - cached_tokens) > prompt_tokens
	AND coalesce(nullif(parted, '') ->> '$.new', 0) = 0
	AND NOT EXISTS (SELECT 1 FROM runs k WHERE k.id = nullif(runs.parted, '') ->> '$.run' AND ` + programOfKept + ` <> ` + program + `))`

// program is the name of a run's client without its version, and programOfKept the one of the run that
// readAgain compares with. An agent that was brought up to date is still the same.
const (
	program       = "substr(runs.client, 1, instr(runs.client || '/', '/') - 1)"
	programOfKept = "substr(k.client, 1, instr(k.client || '/', '/') - 1)"
)

// runWhere returns the condition on runs.
func runWhere(f RunQuery) (string, []any) {
	list, args := []string{"1"}, []any{}
	and := func(condition, arg string) {
		if arg != "" {
			list, args = append(list, condition), append(args, arg)
		}
	}
	and("model = ?", f.Model)
	and("? IN (client, "+program+")", f.Client)
	and("endpoint = ?", f.Endpoint)
	and("iif(ended_at IS NULL, '"+FinishRunning+"', finish_reason) = ?", f.Finish)
	and(day("started_at")+" = ?", f.Day)
	if f.Search != "" {
		list = append(list, "(instr(lower(concat_ws(char(10), client, endpoint, model, drafter, finish_reason, error, message, "+
			"started_at)), lower(?)) > 0 OR client IN (SELECT value FROM json_each(?)) OR id IN (SELECT value FROM json_each(?)))")
		args = append(args, f.Search, jsonList(f.FoundClients), jsonList(f.FoundRuns))
	}
	if f.Before != 0 && f.Sort == "" {
		list, args = append(list, "id < ?"), append(args, f.Before)
	}
	if !f.Since.IsZero() {
		// Runs are read by their ids, so the smallest id bounds how many are read. The index of times
		// has it: +id keeps the database from looking for it in the table.
		list, args = append(list, "id >= (SELECT min(+id) FROM runs WHERE started_at >= ?) AND started_at >= ?"),
			append(args, stamp(f.Since), stamp(f.Since))
	}
	if f.Failed {
		list = append(list, "finish_reason IN ('"+FinishError+"', '"+FinishInterrupted+"')")
	}
	if f.Slow {
		list = append(list, slow)
	}
	return strings.Join(list, " AND "), args
}

// jsonList returns a list as JSON.
func jsonList[T any](list []T) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // it holds numbers or texts
	}
	return string(b)
}

// runsWhere selects runs, without Speculation. A condition and an order follow.
const runsWhere = "SELECT id, started_at, " + runFigures + ", '', " + runTexts + " FROM runs WHERE "

// List returns the selected runs in their order, without Speculation. next is what to pass as Before
// for the next page, 0 at the end. Error: [Invalid] for a negative limit or cursor, or an unknown
// order.
func (rs Runs) List(ctx context.Context, f RunQuery) (runs []Run, next int64, err error) {
	const op = "list runs"
	if f.Limit < 0 || f.Before < 0 {
		return nil, 0, invalid(op, "limit and cursor may not be negative")
	}
	limit := min(f.Limit, MaxRunsLimit)
	if limit == 0 {
		limit = DefaultRunsLimit
	}
	if _, ok := RunOrders[f.Sort]; f.Sort != "" && !ok {
		return nil, 0, invalid(op, "runs have no such order")
	}
	where, args := runWhere(f)
	skip := int64(0)
	if f.Sort != "" {
		skip = f.Before
	}
	// The query asks for one row more, to know whether there is a next page.
	runs, err = query(ctx, rs.db.r, runFields, runsWhere+where+" ORDER BY "+runOrder(f)+" LIMIT ? OFFSET ?",
		append(args, limit+1, skip)...)
	if err != nil {
		return nil, 0, rs.db.wrap(op, err)
	}
	if len(runs) > limit {
		runs = runs[:limit]
		if next = runs[limit-1].ID; f.Sort != "" {
			next = skip + int64(limit)
		}
	}
	return runs, next, nil
}

// Since calls visit with each run that began at a time or later, the newest first, without
// Speculation. There may be any number of them.
func (rs Runs) Since(ctx context.Context, since time.Time, visit func(Run)) error {
	f := RunQuery{Since: since}
	where, args := runWhere(f)
	return rs.db.wrap("read runs", each(ctx, rs.db.r, runFields, visit,
		runsWhere+where+" ORDER BY "+runOrder(f), args...))
}

// Values returns the values of the history.
func (rs Runs) Values(ctx context.Context) (v RunValues, err error) {
	for _, c := range []struct {
		column string
		values *[]string
	}{
		{"model", &v.Models}, {"client", &v.Clients}, {"endpoint", &v.Endpoints}, {"finish_reason", &v.Finishes}, {day("started_at"), &v.Days},
	} {
		if *c.values, err = query(ctx, rs.db.r, func(s *string) []any { return []any{s} },
			"SELECT "+c.column+" AS value FROM runs WHERE value <> '' GROUP BY value ORDER BY max(id) DESC LIMIT ?",
			MaxRunValues); err != nil {
			return RunValues{}, rs.db.wrap("list what runs differ in", err)
		}
	}
	return v, nil
}
