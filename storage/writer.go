package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A writer lets one call at a time write. While another process holds the file, only the first call
// waits for it. The calls after it fail at once, so that requests go on without a history, until
// the file is found free again.
type writer struct {
	turn chan struct{}             // taken by the call that writes
	held atomic.Pointer[heldError] // nil while the file is free, as far as known
}

// A heldError says that another process holds the file.
type heldError struct{ message string }

func (e *heldError) Error() string { return e.message }

// tryEvery is how often a held file is tried again.
const tryEvery = 250 * time.Millisecond

// write calls f, which writes. Error: *heldError.
func (db *DB) write(ctx context.Context, f func() error) error {
	if held := db.writer.held.Load(); held != nil {
		return held
	}
	select {
	case db.writer.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-db.writer.turn }()
	if held := db.writer.held.Load(); held != nil { // the call before it has waited
		return held
	}
	err := f()
	if isBusy(err) {
		db.hold()
	}
	return err
}

// isBusy reports whether an error says that another process holds the file.
func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains([]int{sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}, e.Code()&0xff)
}

// hold makes all writes fail with a heldError until the file is free. The caller has the turn.
func (db *DB) hold() {
	e := &heldError{db.busyMessage()}
	db.writer.held.Store(e)
	db.log.Warn("nothing is kept while another program holds the database", "error", e)
	db.working.Go(func() {
		tick := time.NewTicker(tryEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-db.life.Done():
				return
			}
			if db.isFree(db.life) {
				db.writer.held.Store(nil)
				db.log.Info("the database is free again, and what happens is kept")
				return
			}
		}
	})
}

// isFree reports whether the file can be written now.
func (db *DB) isFree(ctx context.Context) bool {
	err := db.impatiently(ctx, func(c *sql.Conn) error {
		_, err := c.ExecContext(ctx, "BEGIN IMMEDIATE")
		if err == nil {
			_, err = c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
		return err
	})
	return ctx.Err() == nil && !isBusy(err) // another failure is told by the next write
}

// impatiently calls f with the connection that writes, which does not wait for other processes
// meanwhile.
func (db *DB) impatiently(ctx context.Context, f func(c *sql.Conn) error) error {
	c, err := db.w.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "PRAGMA busy_timeout(0)"); err != nil {
		return err
	}
	err = f(c)
	_, back := c.ExecContext(context.WithoutCancel(ctx),
		fmt.Sprintf("PRAGMA busy_timeout(%d)", busyTimeout))
	return errors.Join(err, back)
}

// exec runs one statement that writes.
func (db *DB) exec(ctx context.Context, query string, args ...any) (res sql.Result, err error) {
	err = db.write(ctx, func() (err error) {
		res, err = db.w.ExecContext(ctx, query, args...)
		return err
	})
	return res, err
}

// execCount is exec with the number of rows that the statement changed.
func (db *DB) execCount(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := db.exec(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// execOne is exec for a statement that must change at least one row. Error: [sql.ErrNoRows].
func (db *DB) execOne(ctx context.Context, query string, args ...any) error {
	return changedOne(db.exec(ctx, query, args...))
}

// changedOne returns [sql.ErrNoRows] for a statement that changed no row.
func changedOne(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return sql.ErrNoRows
}

// update runs f in one write transaction, and rolls it back if f fails.
func (db *DB) update(ctx context.Context, f func(tx *sql.Tx) error) error {
	return db.write(ctx, func() error {
		tx, err := db.w.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // after a Commit this does nothing
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}
