package storage

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
)

// OpenReadOnly opens the database at path for reading. It changes nothing: neither the schema nor
// the runs in flight. Every call that writes fails with [ReadOnly]. If the file was closed, no
// other process may write to it meanwhile.
//
// Errors: [Older] if the file has to be migrated first, [Newer] if a newer program wrote it,
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
	query := fmt.Sprintf("mode=ro&_pragma=busy_timeout(%d)&_pragma=query_only(1)", busyTimeout)
	if st, err := os.Stat(db.path + "-wal"); err != nil || st.Size() == 0 {
		query += "&immutable=1" // otherwise SQLite makes files beside it, even to read
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(db.path), RawQuery: query}
	if db.r, err = sql.Open("sqlite", u.String()); err != nil {
		return nil, db.wrap(op, err)
	}
	db.w = db.r
	if err := db.checkVersion(context.Background(), op); err != nil {
		db.Close()
		return nil, db.wrap(op, err)
	}
	return db, nil
}

// checkVersion refuses a schema that is not that of this program.
func (db *DB) checkVersion(ctx context.Context, op string) error {
	older := &Error{Code: Older, Op: op,
		Message: fmt.Sprintf("the database %s was written by an older Tandem: the next start of this one brings it up to date",
			db.path)}
	// Without this check goose would make its table.
	var begun bool
	err := db.r.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?)",
		goose.DefaultTablename).Scan(&begun)
	switch {
	case err != nil:
		return err
	case !begun:
		return older
	}
	p, err := db.provider()
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	switch {
	case err != nil:
		return err
	case have < want:
		return older
	case have > want:
		return db.newer(op, have, want)
	}
	return nil
}
