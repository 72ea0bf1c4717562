package storage

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"time"
)

// SetText stores a run's text in place of an earlier one. For a run that was forgotten while in
// flight it stores nothing and returns nil.
func (rs Runs) SetText(ctx context.Context, t RunText) error {
	// The tail is stored as text, because an empty blob is read back as NULL.
	tail := sql.NullString{String: base64.StdEncoding.EncodeToString(t.Tail), Valid: t.Tail != nil}
	_, err := rs.db.exec(ctx,
		`INSERT OR REPLACE INTO run_texts (run, model, key, request, prompt, file, tokens, tail, replay) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?
		WHERE NOT EXISTS (SELECT 1 FROM runs WHERE id = ? AND forgotten = `+textForgotten+")",
		t.Run, t.Model, t.Key, text(t.Request), t.Prompt, t.File, t.Tokens, tail, text(t.Replay),
		t.Run)
	return rs.db.wrap("keep the text of a run", err)
}

// Text returns the text of a run. Error: [NotFound].
func (rs Runs) Text(ctx context.Context, run int64) (RunText, error) {
	t := RunText{Run: run}
	var tail sql.NullString
	err := rs.db.r.QueryRowContext(ctx,
		"SELECT model, key, request, prompt, file, tokens, tail, replay FROM run_texts WHERE run = ?", run).
		Scan(&t.Model, &t.Key, (*text)(&t.Request), &t.Prompt, &t.File, &t.Tokens, &tail,
			(*text)(&t.Replay))
	if err == nil && tail.Valid {
		t.Tail, err = base64.StdEncoding.DecodeString(tail.String)
	}
	return t, rs.db.wrapRow(fmt.Sprintf("find the text of run %d", run), "there is none", err)
}

// DropText removes the text of a run, if there is one.
func (rs Runs) DropText(ctx context.Context, run int64) error {
	_, err := rs.db.exec(ctx, "DELETE FROM run_texts WHERE run = ?", run)
	return rs.db.wrap("forget the text of a run", err)
}

// A verdict may name the two tokens where the answers differ.
const (
	verdictHasText     = "verdict <> '' AND (verdict ->> '$.answered' <> '' OR verdict ->> '$.now' <> '')"
	verdictWithoutText = "json_set(json_remove(verdict, '$.answered', '$.now'), '$.forgotten', json('true'))"
)

// SweepTexts deletes the texts of runs that ended before ended, and of interrupted runs that
// ended before cutOff, and returns how many. With them go the tokens that their verdicts name, and
// the tokens where a prompt parted from another text.
func (rs Runs) SweepTexts(ctx context.Context, ended, cutOff time.Time) (n int64, err error) {
	err = rs.db.update(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM run_texts WHERE run IN (
			SELECT id FROM runs JOIN run_texts ON run = id WHERE ended_at IS NOT NULL AND ended_at < CASE request WHEN '' THEN ? ELSE ? END)`,
			stamp(ended), stamp(cutOff))
		if err != nil {
			return err
		}
		if n, err = res.RowsAffected(); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			"UPDATE runs SET parted = '' WHERE parted <> '' AND ended_at < ?",
			stamp(ended)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx,
			"UPDATE runs SET verdict = "+verdictWithoutText+" WHERE ended_at < ? AND "+verdictHasText+
				" AND id NOT IN (SELECT run FROM run_texts)", stamp(ended))
		return err
	})
	return n, rs.db.wrap("sweep the texts of runs", err)
}

// A Scope says what to forget. Each field that is not empty narrows it; at least one must be set.
type Scope struct {
	Model  string
	Client string
	Day    string // of the start, as YYYY-MM-DD, in local time
}

// where is the condition on runs.
func (s Scope) where() (string, []any) {
	return "(model = ? OR ? = '') AND (client = ? OR ? = '') AND (" + day("started_at") +
			" = ? OR ? = '')",
		[]any{s.Model, s.Model, s.Client, s.Client, s.Day, s.Day}
}

// tree is the query for the checkpoints that go with a scope, with those whose files are gone: the
// id, whether the file is there, and its bytes.
func (s Scope) tree() (string, []any) {
	where, args := s.where()
	// Rows of files that are gone are included, because they have a digest of the text.
	seed := "SELECT id FROM checkpoints WHERE run IN (SELECT id FROM runs WHERE " + where + ")"
	flying, more := s.inFlight()
	seed += " UNION SELECT id FROM checkpoints WHERE (model = ? OR ? = '') AND run IN (SELECT id FROM runs WHERE " +
		flying + ")"
	args = append(append(args, s.Model, s.Model), more...)
	if s.Model != "" && s == (Scope{Model: s.Model}) {
		seed += " UNION SELECT id FROM checkpoints WHERE model = ?"
		args = append(args, s.Model)
	}
	return "WITH RECURSIVE tree (id) AS (" + seed +
		" UNION SELECT c.id FROM checkpoints c JOIN tree ON c.parent = tree.id) SELECT id, gone = '' AS there, bytes FROM checkpoints WHERE id IN tree", args
}

// Forgotten counts what was forgotten, or would be.
type Forgotten struct {
	Runs        int
	Checkpoints []string // ids of the checkpoints whose files were there
	Bytes       int64    // of these files
	InFlight    int      // runs that stay, because they have not ended
}

// WouldForget counts what [DB.Forget] would remove, without the ids of checkpoints. Error:
// [Invalid] for an empty scope.
func (db *DB) WouldForget(ctx context.Context, s Scope) (
	out Forgotten, checkpoints int, err error) {
	const op = "look what would be forgotten"
	if s == (Scope{}) {
		return out, 0, invalid(op, "name a model, a client or a day")
	}
	tree, args := s.tree()
	err = db.r.QueryRowContext(ctx,
		"SELECT count(*), coalesce(sum(bytes), 0) FROM ("+tree+") WHERE there",
		args...).Scan(&checkpoints, &out.Bytes)
	if err == nil {
		where, args := s.where()
		flying, more := s.inFlight()
		err = db.r.QueryRowContext(ctx,
			"SELECT (SELECT count(ended_at) FROM runs WHERE "+where+"), (SELECT count(*) FROM runs WHERE "+flying+")",
			append(args, more...)...).
			Scan(&out.Runs, &out.InFlight)
	}
	return out, checkpoints, db.wrap(op, err)
}

// Forget deletes the history of a scope:
//
//   - its runs that have ended, and the texts of all its runs;
//   - the rows of the checkpoints that its runs computed, and of all that go on from these; if the
//     scope is a model alone, the rows of all checkpoints of the model;
//   - the tokens where prompts parted from other texts;
//   - the copies that older programs made of the file.
//
// Runs in flight stay; they store nothing from then on. The copies go first, then remove deletes
// the files of checkpoints. Errors: [Invalid] for an empty scope; [ReadOnly] if a copy cannot be
// removed; the error of remove. After an error nothing is forgotten.
//
// After a Forget without an error only the database's log may still have a text, and only while
// something reads the log.
func (db *DB) Forget(ctx context.Context, s Scope, remove func(ids []string) error) (
	Forgotten, error) {
	const op = "forget runs"
	if s == (Scope{}) {
		return Forgotten{}, invalid(op, "name a model, a client or a day")
	}
	var out Forgotten
	err := db.update(ctx, func(tx *sql.Tx) error {
		tree, args := s.tree()
		type file struct {
			id    string
			there bool
			bytes int64
		}
		all, err := query(ctx, tx,
			func(f *file) []any { return []any{&f.id, &f.there, &f.bytes} }, tree, args...)
		if err != nil {
			return err
		}
		for _, f := range all {
			if f.there {
				out.Checkpoints = append(out.Checkpoints, f.id)
				out.Bytes += f.bytes
			}
		}
		if err := db.removeCopies(op); err != nil {
			return err
		}
		if err := remove(out.Checkpoints); err != nil {
			return err
		}
		for _, f := range all {
			if _, err := tx.ExecContext(ctx, "DELETE FROM checkpoints WHERE id = ?",
				f.id); err != nil {
				return err
			}
		}
		where, args := s.where()
		res, err := tx.ExecContext(ctx, "DELETE FROM runs WHERE ended_at IS NOT NULL AND "+where,
			args...)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if out.Runs = int(n); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			"UPDATE runs SET parted = '' WHERE parted <> ''"); err != nil {
			return err
		}
		out.InFlight, err = s.forgetInFlight(ctx, tx)
		return err
	})
	if err == nil {
		db.purge()
	}
	return out, db.wrap(op, err)
}
