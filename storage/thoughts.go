package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Limits of thoughts.
const (
	ThoughtsKept     = 30 * 24 * time.Hour // after the last use
	MaxThoughts      = 32 << 20            // bytes of all; those unused for longest are deleted
	MaxThought       = 1 << 20             // bytes of one; a longer one is not stored
	thoughtUsedEvery = time.Hour           // between two notes of a use

	// trimmedThoughts are the bytes that are left when there were too many. A trim looks at all
	// thoughts, and an answer waits for it, so it comes seldom.
	trimmedThoughts = MaxThoughts / 8 * 7
)

// trimThoughts deletes the thoughts unused for longest, beyond a number of bytes. It reads no thought.
const trimThoughts = `DELETE FROM thoughts WHERE rowid IN (SELECT rowid FROM
	(SELECT rowid, sum(bytes) OVER (ORDER BY used_at DESC, rowid DESC) AS newer FROM thoughts) WHERE newer > ?)`

// AddThought stores a thought in place of an earlier one of the same history. The ones unused for
// longest are deleted beyond MaxThoughts. Errors: [NotFound] if the key of its owner was deleted, or
// if its run was forgotten; [Invalid] beyond MaxThought.
func (rs Responses) AddThought(ctx context.Context, t Thought) error {
	const op = "keep a thought"
	if len(t.Sealed) > MaxThought {
		return invalid(op, "it has %d bytes; %d are kept", len(t.Sealed), MaxThought)
	}
	err := rs.db.update(ctx, func(tx *sql.Tx) error {
		if err := refuseForgotten(ctx, tx, op, t.Run); err != nil {
			return err
		}
		var owned bool
		if err := tx.QueryRowContext(ctx,
			"SELECT ? = 0 OR EXISTS (SELECT 1 FROM keys WHERE id = ?)", t.Owner,
			t.Owner).Scan(&owned); err != nil {
			return err
		}
		if !owned {
			return &Error{Code: NotFound, Op: op, Message: "its key was deleted"}
		}
		if _, err := tx.ExecContext(ctx,
			"INSERT OR REPLACE INTO thoughts (owner, model, history, run, tokens, sealed, bytes, used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			t.Owner, t.Model, t.History, t.Run, t.Tokens, t.Sealed, len(t.Sealed),
			stamp(rs.db.clock())); err != nil {
			return err
		}
		var all int64
		if err := tx.QueryRowContext(ctx, "SELECT sum(bytes) FROM thoughts").Scan(&all); err != nil ||
			all <= MaxThoughts {
			return err
		}
		_, err := tx.ExecContext(ctx, trimThoughts, trimmedThoughts)
		return err
	})
	return rs.db.wrap(op, err)
}

// Thoughts returns the owner's thoughts of a model before the answers that end these histories, in
// no particular order. Histories without one are left out. They are used from now on. That is noted
// later, since the request need not wait for it.
func (rs Responses) Thoughts(ctx context.Context, owner int64, model string,
	histories []string) ([]Thought, error) {
	names, err := json.Marshal(histories)
	if err != nil {
		return nil, err
	}
	now := rs.db.clock()
	first := now
	var used time.Time // of the row that is read
	var list []Thought
	err = each(ctx, rs.db.r, func(t *Thought) []any {
		return []any{&t.Owner, &t.Model, &t.History, &t.Run, &t.Tokens, &t.Sealed, (*stamp)(&used)}
	}, func(t Thought) {
		if list = append(list, t); used.Before(first) {
			first = used
		}
	}, `SELECT owner, model, history, run, tokens, sealed, used_at FROM thoughts
		WHERE owner = ? AND model = ? AND used_at >= ? AND history IN (SELECT value FROM json_each(?))`,
		owner, model, stamp(now.Add(-ThoughtsKept)), string(names))
	if err != nil {
		return nil, rs.db.wrap("find thoughts", err)
	}
	if now.Sub(first) >= thoughtUsedEvery {
		rs.db.working.Go(func() { rs.useThoughts(owner, model, string(names), now) })
	}
	return list, nil
}

// useThoughts notes that thoughts were used. names are their histories, as JSON.
func (rs Responses) useThoughts(owner int64, model, names string, at time.Time) {
	_, err := rs.db.exec(rs.db.life,
		"UPDATE thoughts SET used_at = ? WHERE owner = ? AND model = ? AND history IN (SELECT value FROM json_each(?))",
		stamp(at), owner, model, names)
	if err != nil && rs.db.life.Err() == nil {
		rs.db.log.Warn("the use of thoughts is not noted, so they may be deleted too early",
			"error", err)
	}
}

// DropThoughts deletes all thoughts, and the copies of the database. Error: [ReadOnly] if a copy
// cannot be removed, and then nothing is deleted.
func (rs Responses) DropThoughts(ctx context.Context) error {
	return rs.dropThoughts(ctx, "DELETE FROM thoughts")
}

// DropThoughtsOf is DropThoughts for one owner.
func (rs Responses) DropThoughtsOf(ctx context.Context, owner int64) error {
	return rs.dropThoughts(ctx, "DELETE FROM thoughts WHERE owner = ?", owner)
}

func (rs Responses) dropThoughts(ctx context.Context, statement string, args ...any) error {
	const op = "delete thoughts"
	err := rs.db.update(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			return err
		}
		return rs.db.removeCopies(op)
	})
	if err == nil {
		rs.db.purge()
	}
	return rs.db.wrap(op, err)
}

// SweepThoughts deletes the thoughts that were not used for ThoughtsKept, and returns how many.
func (rs Responses) SweepThoughts(ctx context.Context) (int64, error) {
	n, err := rs.db.execCount(ctx, "DELETE FROM thoughts WHERE used_at < ?",
		stamp(rs.db.clock().Add(-ThoughtsKept)))
	return n, rs.db.wrap("sweep thoughts", err)
}
