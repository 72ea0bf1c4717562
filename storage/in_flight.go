package storage

import (
	"context"
	"database/sql"
	"errors"
)

// textForgotten is the value of runs.forgotten for a run whose text was forgotten while it was in
// flight. From then on such a run stores no text, no response and no checkpoint.
const textForgotten = "2"

// inFlight is the condition on runs in flight. A run's row gets its model at the end, its text has
// it earlier. Until one of them has it, the run counts for any model.
func (s Scope) inFlight() (string, []any) {
	return `ended_at IS NULL AND (? = '' OR coalesce(nullif(model, ''), (SELECT t.model FROM run_texts t WHERE t.run = runs.id), ?) = ?)
		AND (client = ? OR ? = '') AND (` + day("started_at") + ` = ? OR ? = '')`,
		[]any{s.Model, s.Model, s.Model, s.Client, s.Client, s.Day, s.Day}
}

// forgetInFlight removes what the scope's runs in flight have stored so far, makes them store
// nothing more, and returns their number. Other runs in flight may have parted from a text of the
// scope: they will store no tokens of where they parted.
func (s Scope) forgetInFlight(ctx context.Context, tx *sql.Tx) (int, error) {
	if _, err := tx.ExecContext(ctx,
		"UPDATE runs SET forgotten = max(forgotten, 1) WHERE ended_at IS NULL"); err != nil {
		return 0, err
	}
	where, args := s.inFlight()
	res, err := tx.ExecContext(ctx, "UPDATE runs SET forgotten = "+textForgotten+" WHERE "+where,
		args...)
	if err != nil {
		return 0, err
	}
	for _, table := range []string{"run_texts", "responses", "thoughts"} {
		if _, err := tx.ExecContext(ctx,
			"DELETE FROM "+table+" WHERE run IN (SELECT id FROM runs WHERE ended_at IS NULL AND forgotten = "+textForgotten+")"); err != nil {
			return 0, err
		}
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// forgotten reports whether any text was forgotten while a run was in flight, and whether it was
// its own.
func forgotten(ctx context.Context, tx *sql.Tx, run int64) (some, own bool, err error) {
	err = tx.QueryRowContext(ctx,
		"SELECT forgotten > 0, forgotten = "+textForgotten+" FROM runs WHERE id = ?",
		run).Scan(&some, &own)
	if errors.Is(err, sql.ErrNoRows) { // callers find out
		err = nil
	}
	return some, own, err
}

// refuseForgotten returns [NotFound] for a run whose text was forgotten while in flight.
func refuseForgotten(ctx context.Context, tx *sql.Tx, op string, run int64) error {
	_, own, err := forgotten(ctx, tx, run)
	if own {
		return &Error{Code: NotFound, Op: op, Message: "its run was forgotten"}
	}
	return err
}
