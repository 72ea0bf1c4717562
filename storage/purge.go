package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	purgeAttempts = 50                    // before the caller goes on, and the rest is done behind its back
	purgePause    = 20 * time.Millisecond // readers hold the log for moments
	purgeEvery    = time.Second           // between attempts from then on
	busyTimeout   = 5000                  // milliseconds that a connection waits for another
)

// removeCopies removes the copies made before migrations, whole or not, for they have what is about to be deleted. It
// comes before that is committed: nothing is said to be gone while a copy has it. Error: [ReadOnly].
func (db *DB) removeCopies(op string) error {
	names, err := db.copies("", ".tmp")
	for _, name := range names {
		if e := os.Remove(name); !os.IsNotExist(e) {
			err = errors.Join(err, e)
		}
	}
	if err == nil {
		return nil
	}
	return &Error{Code: ReadOnly, Op: op, Message: fmt.Sprintf("nothing is deleted, for an old copy of the database stays beside %s: %v", db.path, err), Err: err}
}

// purge removes what was deleted from the log too. It is deleted whatever becomes of that, so this is no error of the
// call: while something reads in the log, purges goes on trying, and the next Open after a crash.
func (db *DB) purge() {
	if db.path == "" {
		return
	}
	var err error
	for range purgeAttempts {
		var done bool
		if done, err = db.fold(db.life); done {
			return
		}
		time.Sleep(purgePause)
	}
	db.purgeLater(err)
}

// purgeLater has purges empty the log. err is why that could not be done, nil if something reads there.
func (db *DB) purgeLater(err error) {
	if err != nil {
		db.log.Warn("what was deleted is not yet out of the database's log", "error", err)
	} else {
		db.log.Info("what was deleted stays in the database's log while something reads there")
	}
	select {
	case db.unpurged <- struct{}{}:
	default: // it is told already
	}
}

// purges ends what purge could not, until the database is closed.
func (db *DB) purges() {
	tick := time.NewTicker(purgeEvery)
	defer tick.Stop()
	for {
		select {
		case <-db.unpurged:
		case <-db.life.Done():
			return
		}
		for done, warned := false, false; !done; {
			select {
			case <-tick.C:
			case <-db.life.Done():
				return // with the last connection the log goes
			}
			var err error
			if done, err = db.fold(db.life); err != nil && !warned {
				warned = true
				db.log.Warn("what was deleted is not yet out of the database's log", "error", err)
			}
		}
	}
}

// fold moves the log into the file and empties it. It reports whether it could: not while something reads in the log, for
// which it does not wait, as it would keep whoever wants to write.
func (db *DB) fold(ctx context.Context) (done bool, err error) {
	c, err := db.w.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "PRAGMA busy_timeout(0)"); err != nil {
		return false, err
	}
	defer func() {
		_, back := c.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA busy_timeout(%d)", busyTimeout))
		err = errors.Join(err, back)
	}()
	var busy, log, moved int
	err = c.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved)
	return busy == 0 && err == nil, err
}
