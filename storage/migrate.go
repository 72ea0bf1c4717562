package storage

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schemaVersion is the version of the schema: the number of the last file in migrations/. The files
// of the versions before 31 are gone, so an older database is refused.
const schemaVersion = 31

// migrate applies the files in migrations/ that the database lacks. A released file is never edited.
func (db *DB) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db.w, files, goose.WithSlog(db.log),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// version returns the version of the schema in the file, 0 if it has none yet. It asks SQLite,
// because goose would make its table first.
func version(ctx context.Context, file *sql.DB) (v int64, err error) {
	var begun bool
	err = file.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?)",
		goose.DefaultTablename).Scan(&begun)
	if err != nil || !begun {
		return 0, err
	}
	err = file.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+
		goose.DefaultTablename).Scan(&v)
	return v, err
}

// checkVersion refuses a schema of another version than this program's. A file without a schema is
// good.
func (db *DB) checkVersion(op string, have int64) error {
	switch {
	case have > schemaVersion:
		return &Error{Code: Newer, Op: op, Message: fmt.Sprintf(
			"the database %s was written by a newer Tandem (schema %d, this one knows %d): update Tandem, or use another home folder",
			db.path, have, schemaVersion)}
	case have > 0 && have < schemaVersion:
		return &Error{Code: Older, Op: op, Message: fmt.Sprintf(
			"the database %s was written by an older Tandem (schema %d, this one needs %d) and was left as it is: move it aside, with the -wal and -shm files beside it, to start with an empty one, or use another home folder",
			db.path, have, schemaVersion)}
	}
	return nil
}
