package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// A RunText is what is needed to complete a run's answer, or to compute it again.
type RunText struct {
	Run     int64
	Model   string          // the run's row has it only once the run has ended
	Request json.RawMessage // the body, with a seed; nil once the run has ended by itself
	Prompt  int             // tokens of the prompt
	File    string          // id of the checkpoint that has the beginning of the text; empty = Tail has all of it
	Tokens  int             // of the text that are in it
	Tail    []byte          // the tokens behind them, int32 little-endian; nil until the run has ended, or if they are too many
	Replay  json.RawMessage // how they were generated; nil where that cannot be repeated
}

// SetRunText stores a run's text in place of an earlier one.
func (db *DB) SetRunText(ctx context.Context, t RunText) error {
	_, err := db.w.ExecContext(ctx, "INSERT OR REPLACE INTO run_texts (run, model, request, prompt, file, tokens, tail, replay) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		t.Run, t.Model, text(t.Request), t.Prompt, t.File, t.Tokens, t.Tail, text(t.Replay))
	return db.wrap("keep the text of a run", err)
}

// RunText returns the one of a run, or [NotFound].
func (db *DB) RunText(ctx context.Context, run int64) (RunText, error) {
	op := fmt.Sprintf("find the text of run %d", run)
	t := RunText{Run: run}
	err := db.r.QueryRowContext(ctx, "SELECT model, request, prompt, file, tokens, tail, replay FROM run_texts WHERE run = ?", run).
		Scan(&t.Model, (*text)(&t.Request), &t.Prompt, &t.File, &t.Tokens, &t.Tail, (*text)(&t.Replay))
	if errors.Is(err, sql.ErrNoRows) {
		return t, &Error{Code: NotFound, Op: op, Message: "there is none", Err: err}
	}
	return t, db.wrap(op, err)
}

// A Scope is what to forget. What is not empty narrows it; one of them at least is not.
type Scope struct {
	Model  string
	Client string
	Day    string // of the start, as YYYY-MM-DD in UTC
}

// where is the condition on runs.
func (s Scope) where() (string, []any) {
	return "(model = ? OR ? = '') AND (client = ? OR ? = '') AND (substr(started_at, 1, 10) = ? OR ? = '')",
		[]any{s.Model, s.Model, s.Client, s.Client, s.Day, s.Day}
}

// Forgotten counts what is gone, or would be.
type Forgotten struct {
	Runs        int
	Checkpoints []string // ids
}

// Forget removes the history of a scope, what was kept of its texts, and the rows of checkpoints: of those that its runs
// computed, of all that go on from these, and, where a model is the whole scope, of all of that model's. Runs in flight
// stay. remove deletes the files of checkpoints first: if it fails, nothing is forgotten.
func (db *DB) Forget(ctx context.Context, s Scope, remove func(ids []string) error) (Forgotten, error) {
	const op = "forget runs"
	if s == (Scope{}) {
		return Forgotten{}, &Error{Code: Invalid, Op: op, Message: "name a model, a client or a day"}
	}
	var out Forgotten
	err := db.update(ctx, func(tx *sql.Tx) error {
		where, args := s.where()
		// Rows of what is gone as well: they have a digest of the text.
		seed := "SELECT id FROM checkpoints WHERE run IN (SELECT id FROM runs WHERE " + where + ")"
		if s.Model != "" && s == (Scope{Model: s.Model}) {
			seed += " UNION SELECT id FROM checkpoints WHERE model = ?"
			args = append(args, s.Model)
		}
		rows, err := tx.QueryContext(ctx, "WITH RECURSIVE tree (id) AS ("+seed+
			" UNION SELECT c.id FROM checkpoints c JOIN tree ON c.parent = tree.id) SELECT id FROM tree", args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			out.Checkpoints = append(out.Checkpoints, id)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if err := remove(out.Checkpoints); err != nil {
			return err
		}
		for _, id := range out.Checkpoints {
			if _, err := tx.ExecContext(ctx, "DELETE FROM checkpoints WHERE id = ?", id); err != nil {
				return err
			}
		}
		where, args = s.where()
		res, err := tx.ExecContext(ctx, "DELETE FROM runs WHERE ended_at IS NOT NULL AND "+where, args...)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		out.Runs = int(n)
		return err
	})
	if err == nil {
		_, err = db.w.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)") // the log has it too
	}
	return out, db.wrap(op, err)
}
