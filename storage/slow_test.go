package storage

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// Runs that read their prompts again are slow, though all runs of their client are like them.
func TestRunsThatReadAgainAreSlow(t *testing.T) {
	db := mustOpen(t, "")
	again := Run{Client: "agent/1", PromptTokens: 3000, CachedTokens: 400, RestoreMS: 500, PrefillMS: 7000,
		FirstTokenMS: 7000, TotalMS: 8000, FinishReason: "stop",
		Divergence: json.RawMessage(`{"at":400,"kept":"4","given":"5","answer":false,"run":1}`)}
	var want []int64
	for _, x := range []struct {
		name   string
		change func(r *Run)
		slow   bool
	}{
		{"the first prompt", func(r *Run) { r.Divergence, r.CachedTokens = nil, 0 }, false},
		{"it parts from the first", func(*Run) {}, true},
		{"it parts from an answer", func(r *Run) { r.Divergence = json.RawMessage(`{"at":400,"answer":true}`) }, true},
		{"a person said something new", func(r *Run) { r.Divergence = json.RawMessage(`{"at":400,"new":true,"run":1}`) }, false},
		{"it parts from another client's prompt", func(r *Run) { r.Client = "editor" }, false},
		{"it parts from its prompt before an update", func(r *Run) { r.Client = "agent/2" }, true},
		{"the other prompt has gone", func(r *Run) { r.Divergence = json.RawMessage(`{"at":400,"run":900}`) }, true},
		{"half of it was restored", func(r *Run) { r.CachedTokens = 1500 }, false},
		{"most of it was read", func(r *Run) { r.CachedTokens = 1499 }, true},
		{"a short prompt", func(r *Run) { r.PromptTokens, r.CachedTokens = 300, 45 }, false},
		{"a prompt that is long enough", func(r *Run) { r.PromptTokens, r.CachedTokens = 300, 44 }, true},
		{"it was read fast", func(r *Run) { r.PrefillMS = 1499 }, false},
		{"it was read in a second", func(r *Run) { r.PrefillMS = 1500 }, true},
	} {
		r := again
		x.change(&r)
		begun, err := db.Runs.Begin(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.ID = begun.ID
		if err := db.Runs.Finish(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if x.slow {
			want = append(want, r.ID)
		}
	}
	slices.Reverse(want)
	wantRuns(t, db, RunQuery{Slow: true}, want)
	if _, err := db.Runs.Begin(t.Context(), Run{Client: "agent"}); err != nil { // in flight
		t.Fatal(err)
	}
	wantRuns(t, db, RunQuery{Slow: true}, want)
}

// The median of a client is that of its newest runs. Another client has runs between them.
func TestSlowRunsAreSlowerThanTheNewest(t *testing.T) {
	db := mustOpen(t, "")
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	err := db.update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
			INSERT INTO runs (id, started_at, ended_at, client, total_ms, endpoint, model, drafter, prompt_tokens, cached_tokens,
				completion_tokens, drafted, accepted, rounds, syncs, load_ms, restore_ms, prefill_ms, first_token_ms, draft_ms,
				verify_ms, peak_bytes, finish_reason, miss_reason, error, seed)
			SELECT i, ?, ?, iif(i % 2, 'a', 'b'), CASE WHEN i = 5001 THEN 21 WHEN i = 5003 THEN 20 WHEN i > 4000 THEN 10 ELSE 1000 END,
				'', '', '', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', '', 0 FROM n`, stamp(start), stamp(start))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantRuns(t, db, RunQuery{Slow: true, Limit: 2}, []int64{5001, 4000})
	wantRuns(t, db, RunQuery{Slow: true, Client: "b", Limit: 1}, []int64{4000})
}

// The smallest id since a time is found although a clock was put back, and without a walk through the
// table.
func TestRunsSinceAreFoundByTheirTimes(t *testing.T) {
	db := mustOpen(t, "")
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, minutes := range []int{-10, 20, -5, 10, 0} {
		if _, err := db.Runs.Begin(t.Context(), Run{StartedAt: start.Add(time.Duration(minutes) * time.Minute)}); err != nil {
			t.Fatal(err)
		}
	}
	wantRuns(t, db, RunQuery{Since: start}, []int64{5, 4, 2})
	where, args := runWhere(RunQuery{Since: start})
	rows, err := db.r.QueryContext(t.Context(), "EXPLAIN QUERY PLAN SELECT id FROM runs WHERE "+where+" ORDER BY id DESC", args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var steps string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps += step + "\n"
	}
	if !strings.Contains(steps, "COVERING INDEX runs_started") {
		t.Errorf("the database finds the runs like this:\n%s", steps)
	}
}

func wantRuns(t *testing.T, db *DB, f RunQuery, want []int64) {
	t.Helper()
	runs, _, err := db.Runs.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, want) {
		t.Errorf("%+v: runs %v, want %v", f, ids, want)
	}
}
