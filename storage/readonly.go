package storage

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// OpenReadOnly opens the database at path for reading. It changes nothing: neither the schema nor
// the runs in flight. Every call that writes fails with [ReadOnly]. If the file was closed, no
// other process may write to it meanwhile.
//
// Errors: [Empty] if the file has no schema yet, [Older] or [Newer] if its schema is not this
// program's, [Corrupt], [ReadOnly] if the file cannot be opened, [Busy].
func OpenReadOnly(path string) (*DB, error) {
	const op = "open database to read"
	db := newDB(Options{})
	var err error
	if db.path, err = filepath.Abs(path); err != nil {
		return nil, db.wrap(op, err)
	}
	if err := db.openReadOnly(op); err != nil {
		db.Close()
		return nil, db.wrap(op, err)
	}
	return db, nil
}

func (db *DB) openReadOnly(op string) (err error) {
	if err := db.checkFiles(op); err != nil {
		return err
	}
	if db.r, _, err = db.readOnly(false); err != nil {
		return err
	}
	db.w = db.r
	have, err := version(context.Background(), db.r)
	if err != nil {
		return err
	}
	return db.checkCurrent(op, have)
}

// readOnly opens a connection that changes nothing, and reports whether the file was closed. One that is alone
// locks nothing and shares the log with no other, so it needs no -shm file, for which a full disk has no room.
//
// A rollback journal (-journal) does not count. A file has one only in the first moments, before it
// is in write-ahead logging mode and has a schema. The connection ignores it, because without
// immutable SQLite would refuse to read. The writer of Open rolls it back.
func (db *DB) readOnly(alone bool) (ro *sql.DB, closed bool, err error) {
	query := fmt.Sprintf("mode=ro&_pragma=busy_timeout(%d)&_pragma=query_only(1)", busyTimeout)
	if closed = db.isClosed(); closed {
		query += "&immutable=1" // otherwise SQLite makes files beside it, even to read
	} else if alone {
		query += "&vfs=unix-none&_pragma=locking_mode(EXCLUSIVE)"
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(db.path), RawQuery: query}
	ro, err = sql.Open("sqlite", u.String())
	return ro, closed, err
}

// isClosed reports whether the file has no log to be read with it.
func (db *DB) isClosed() bool {
	st, err := os.Stat(db.path + "-wal")
	return err != nil || st.Size() == 0
}
