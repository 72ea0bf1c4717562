package storage

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"os"

	"github.com/pressly/goose/v3"

	"tandem/storage/disk"
)

//go:embed migrations/*.sql
var migrations embed.FS

// oldestSchema is the oldest version of the schema that migrate brings up to date: the number of the
// first file in migrations/. The files of the versions before it are gone.
const oldestSchema = 31

// newestSchema returns the version that migrate leads to: the number of the last file in migrations/.
func (db *DB) newestSchema() (int64, error) {
	names, err := fs.Glob(db.migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	return goose.NumericComponent(names[len(names)-1])
}

// migrate applies the files in migrations/ that the database lacks, whose schema has the version have, or 0.
// A released file is never edited.
func (db *DB) migrate(ctx context.Context, have int64) error {
	files, err := fs.Sub(db.migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db.w, files, goose.WithSlog(db.log),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	newest, err := db.newestSchema()
	if err == nil && 0 < have && have < newest {
		err = db.copyBeside(ctx, have)
	}
	if err == nil {
		_, err = p.Up(ctx)
	}
	return err
}

// copyBeside writes a copy of the file beside it, as tandem.db.v31.backup: the older program opens that,
// and refuses the file once it is migrated.
func (db *DB) copyBeside(ctx context.Context, have int64) error {
	name := fmt.Sprintf("%s.v%d.backup", db.path, have)
	// SQLite fills an empty file, which keeps the mode that it is given.
	f, err := disk.OpenUnlinked(name+".tmp", os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	f.Close()
	if _, err := db.w.ExecContext(ctx, "VACUUM INTO ?", name+".tmp"); err != nil {
		os.Remove(name + ".tmp")
		return err
	}
	return os.Rename(name+".tmp", name)
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

// checkVersion refuses a schema that migrate cannot bring up to date. A file without a schema is
// accepted.
func (db *DB) checkVersion(op string, have int64) error {
	newest, err := db.newestSchema()
	switch {
	case err != nil:
		return err
	case have > newest:
		return &Error{Code: Newer, Op: op, Message: fmt.Sprintf(
			"the database %s was written by a newer Tandem (schema %d, this one knows %d): update Tandem, or use another home folder",
			db.path, have, newest)}
	case have > 0 && have < oldestSchema:
		return &Error{Code: Older, Op: op, Message: fmt.Sprintf(
			"the database %s was written by an older Tandem (schema %d, this one needs %d or later) and was left as it is: move it aside, with the -wal and -shm files beside it, to start with an empty one, or use another home folder",
			db.path, have, oldestSchema)}
	}
	return nil
}

// checkCurrent refuses every schema but the newest, for a database that may not be changed.
func (db *DB) checkCurrent(op string, have int64) error {
	if err := db.checkVersion(op, have); err != nil {
		return err
	}
	newest, err := db.newestSchema()
	switch {
	case err != nil:
		return err
	case have == 0:
		return &Error{Code: Empty, Op: op, Message: fmt.Sprintf(
			"the database %s is still empty: the next start makes its tables", db.path)}
	case have < newest:
		return &Error{Code: Older, Op: op, Message: fmt.Sprintf(
			"the database %s was written by an older Tandem (schema %d, this one reads %d): the next start brings it up to date",
			db.path, have, newest)}
	}
	return nil
}
