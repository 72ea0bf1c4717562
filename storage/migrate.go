package storage

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// KeepBackups is how many copies made before migrations stay beside the file.
const KeepBackups = 3

// provider gives goose the embedded files. Files are only appended: a released file is never
// edited.
func (db *DB) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db.w, files, goose.WithSlog(db.log),
		goose.WithDisableGlobalRegistry(true))
}

// migrate brings the schema up to date. It first makes a backup if the file has an older schema.
func (db *DB) migrate(ctx context.Context) error {
	p, err := db.provider()
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	switch {
	case have == want:
		return nil
	case have > want:
		return db.newer("open database", have, want)
	case have > 0 && db.path != "":
		if err := db.backup(ctx, have); err != nil {
			return fmt.Errorf("back up before migrating: %w", err)
		}
	}
	db.log.Info("migrating the database", "path", db.path, "from", have, "to", want)
	_, err = p.Up(ctx)
	return err
}

func (db *DB) newer(op string, have, want int64) *Error {
	return &Error{Code: Newer, Op: op,
		Message: fmt.Sprintf("the database %s was written by a newer Tandem (schema %d, this one knows %d): update Tandem, or use another home folder",
			db.path, have, want)}
}

// backup writes a compact copy of the file beside it, tandem.db.v2-20261121T120000Z.backup, and
// removes the oldest copies.
func (db *DB) backup(ctx context.Context, version int64) error {
	name := fmt.Sprintf("%s.v%d-%s.backup", db.path, version,
		db.now().UTC().Format("20060102T150405Z"))
	tmp := name + ".tmp"
	// SQLite fills an empty file, which keeps the mode that we give it. A full file is left from a
	// crash.
	if err := os.Remove(tmp); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	f.Close()
	if _, err := db.w.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		os.Remove(tmp)
		return err
	}
	if err := os.Rename(tmp, name); err != nil {
		return err
	}
	db.log.Info("backed up the database", "path", name)
	old := db.backups()
	for _, b := range old[:max(0, len(old)-KeepBackups)] {
		if err := os.Remove(b); err != nil {
			return err
		}
	}
	return nil
}

// backups returns the copies made before migrations, the oldest first.
func (db *DB) backups() []string {
	names, err := db.copies("")
	if err != nil {
		return nil
	}
	taken := func(name string) string { return name[strings.LastIndexByte(name, '-'):] }
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(taken(a), taken(b)) })
	return names
}

// copies returns the files of backup whose names end in .backup and one of ends. The end .tmp marks
// an unfinished copy.
func (db *DB) copies(ends ...string) (names []string, err error) {
	if db.path == "" {
		return nil, nil
	}
	dir, base := filepath.Split(db.path)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, base+".v") &&
			slices.ContainsFunc(ends, func(end string) bool {
				return strings.HasSuffix(name,
					".backup"+end)
			}) {
			names = append(names, filepath.Join(dir, name))
		}
	}
	return names, err
}
