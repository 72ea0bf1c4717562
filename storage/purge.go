package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	purgeAttempts = 50                    // before the caller goes on, and a goroutine tries
	purgePause    = 20 * time.Millisecond // readers hold the log for moments
	purgeEvery    = time.Second           // between later attempts
	busyTimeout   = 3000                  // milliseconds that a connection waits for another
)

// removeCopies removes the copies tandem.db.v*.backup that were made before the schema changed,
// finished (.backup) or not (.backup.tmp), because they have the rows to delete. Call it
// before the commit, so that nothing is reported as deleted while a copy has it. Error: [ReadOnly].
func (db *DB) removeCopies(op string) error {
	err := db.removeFiles(".backup", ".backup.tmp", ".backup.tmp-journal")
	if err == nil {
		return nil
	}
	return &Error{Code: ReadOnly, Op: op,
		Message: fmt.Sprintf("nothing is deleted, for an old copy of the database is still beside %s: %v",
			db.path, err), Err: err}
}

// removeUnfinished removes copies that a program was killed over. They are of no use.
func (db *DB) removeUnfinished() {
	if err := db.removeFiles(".backup.tmp", ".backup.tmp-journal"); err != nil {
		db.log.Warn("an unfinished copy of the database is still beside it", "path", db.path, "error", err)
	}
}

// removeFiles removes copies beside the database by the ends of their names.
func (db *DB) removeFiles(ends ...string) error {
	if db.path == "" {
		return nil
	}
	dir, base := filepath.Split(db.path)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		ended := func(end string) bool { return strings.HasSuffix(e.Name(), end) }
		if strings.HasPrefix(e.Name(), base+".v") && slices.ContainsFunc(ends, ended) {
			if e := os.Remove(filepath.Join(dir, e.Name())); !os.IsNotExist(e) {
				err = errors.Join(err, e)
			}
		}
	}
	return err
}

// purge removes deleted rows from the log too. They are deleted even if that fails, so purge
// returns no error. While something reads the log, purges goes on trying, and after a crash the
// next Open does.
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

// purgeLater asks purges to empty the log. err is why it could not be emptied now, nil if something
// reads it.
func (db *DB) purgeLater(err error) {
	if err != nil {
		db.log.Warn("what was deleted is not yet out of the database's log", "error", err)
	} else {
		db.log.Info("what was deleted stays in the database's log while something reads there")
	}
	select {
	case db.unpurged <- struct{}{}:
	default: // purges has been asked already
	}
}

// purges empties the log when purge could not, until the database is closed.
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
				return // the last connection removes the log
			}
			var err error
			if done, err = db.fold(db.life); err != nil && !warned {
				warned = true
				db.log.Warn("what was deleted is not yet out of the database's log", "error", err)
			}
		}
	}
}

// fold moves the log into the file and empties it, and reports whether it did. It cannot while
// something reads the log. It does not wait for readers, because writers would wait too.
func (db *DB) fold(ctx context.Context) (done bool, err error) {
	var busy, log, moved int
	err = db.impatiently(ctx, func(c *sql.Conn) error {
		return c.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved)
	})
	return busy == 0 && err == nil, err
}
