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
// Errors: [Empty] if the file has no schema yet, [Older] or [Newer] if another program wrote it,
// [Corrupt], [ReadOnly] if the file cannot be opened, [Busy].
func OpenReadOnly(path string) (*DB, error) {
	const op = "open database to read"
	db := newDB(Options{})
	var err error
	if db.path, err = filepath.Abs(path); err != nil {
		return nil, db.wrap(op, err)
	}
	if err := db.checkFiles(op); err != nil {
		return nil, err
	}
	if db.r, _, err = db.readOnly(); err != nil {
		return nil, db.wrap(op, err)
	}
	db.w = db.r
	have, err := version(context.Background(), db.r)
	switch {
	case err != nil:
	case have == 0:
		err = &Error{Code: Empty, Op: op, Message: fmt.Sprintf(
			"the database %s is still empty: the next start makes its tables", db.path)}
	default:
		err = db.checkVersion(op, have)
	}
	if err != nil {
		db.Close()
		return nil, db.wrap(op, err)
	}
	return db, nil
}

// readOnly opens a connection that changes nothing, and reports whether the file was closed.
func (db *DB) readOnly() (ro *sql.DB, closed bool, err error) {
	query := fmt.Sprintf("mode=ro&_pragma=busy_timeout(%d)&_pragma=query_only(1)", busyTimeout)
	if st, err := os.Stat(db.path + "-wal"); err != nil || st.Size() == 0 {
		closed = true
		query += "&immutable=1" // otherwise SQLite makes files beside it, even to read
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(db.path), RawQuery: query}
	ro, err = sql.Open("sqlite", u.String())
	return ro, closed, err
}
