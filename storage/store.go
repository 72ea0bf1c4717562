package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver of database/sql

	"tandem/storage/disk"
)

// readers is the number of connections for reading.
const readers = 4

// Options of [Open]. The zero value is usable.
type Options struct {
	Now    func() time.Time // time.Now if nil
	Logger *slog.Logger     // discards if nil
}

// A DB is an open database. It may be used by many goroutines at once. Its fields have the
// methods for the records they are named for. The others are its own: for settings, keys and benches,
// and for what concerns several fields.
type DB struct {
	Models      Models
	Checkpoints Checkpoints
	Runs        Runs
	Chats       Chats
	Responses   Responses

	path string  // empty in memory
	w    *sql.DB // one connection, every transaction immediate
	r    *sql.DB // cannot write; the same as w in memory, and after an Open on a full disk
	now  func() time.Time
	log  *slog.Logger

	migrations fs.FS // with the folder migrations

	writer writer
	holder holder

	life     context.Context // ends with Close
	end      context.CancelFunc
	unpurged chan struct{}  // told that deleted rows are still in the log; see purge
	working  sync.WaitGroup // what goes on until then
}

// Open opens the database at path. It creates a missing file with mode 0600, in a folder that must
// exist, and gives an existing file this mode. It checks a file that was not closed. It marks the
// runs that an earlier process left in flight as interrupted. An empty path opens a database in
// memory, which ends with Close. The caller closes the DB.
//
// Errors, after which the content of the file is as before:
//   - [Corrupt] if the file is damaged
//   - [Newer] if a newer program wrote it, [Older] if one did whose schema cannot be brought up to date
//   - [Busy] if another program writes to it for more than three seconds
//   - [ReadOnly]
//   - [Full] if the disk has no room for the tables of a new file or a change of the schema. Otherwise
//     the DB opens on a full disk too. Every call that needs room fails with Full until there is some.
func Open(path string, opts Options) (*DB, error) {
	db := newDB(opts)
	if path != "" {
		var err error
		if db.path, err = filepath.Abs(path); err != nil {
			return nil, db.wrap("open database", err)
		}
	}
	if err := db.open(context.Background()); err != nil {
		db.Close()
		return nil, db.wrap("open database", err)
	}
	return db, nil
}

// newDB returns a DB that has no file yet.
func newDB(opts Options) *DB {
	db := &DB{now: opts.Now, log: opts.Logger, migrations: migrations,
		unpurged: make(chan struct{}, 1)}
	db.Models, db.Checkpoints, db.Runs = Models{db}, Checkpoints{db}, Runs{db}
	db.Chats, db.Responses = Chats{db}, Responses{db}
	db.writer.turn = make(chan struct{}, 1)
	db.life, db.end = context.WithCancel(context.Background())
	if db.now == nil {
		db.now = time.Now
	}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	return db
}

func (db *DB) open(ctx context.Context) error {
	if db.path == "" {
		w, err := sql.Open("sqlite", "file::memory:?_pragma=foreign_keys(1)&_txlock=immediate")
		if err != nil {
			return err
		}
		w.SetMaxOpenConns(1)
		db.w, db.r = w, w
		return db.migrate(ctx, 0)
	}
	if err := db.touch(); err != nil {
		return err
	}
	err := db.connect(ctx)
	if full := db.wrap("open database", err); IsFull(full) {
		db.log.Warn("nothing is kept until the disk has room", "error", full)
		err = errors.Join(db.disconnect(), db.connectAlone(ctx))
	}
	if err != nil {
		return err
	}
	db.removeUnfinished()
	if done, err := db.fold(ctx); !done { // after a crash the log may have deleted rows
		db.purgeLater(err)
	}
	db.working.Go(db.purges)
	return nil
}

// connect opens the connections, and brings the file up to date.
func (db *DB) connect(ctx context.Context) error {
	have, err := db.check(ctx, false)
	if err != nil {
		return err
	}
	if err := db.openWriter(""); err != nil {
		return err
	}
	if err := db.migrate(ctx, have); err != nil {
		return err
	}
	if err := db.Runs.interrupt(ctx); err != nil {
		return err
	}
	if db.r, err = sql.Open("sqlite", db.dsn("_pragma=query_only(1)")); err != nil {
		return err
	}
	db.r.SetMaxOpenConns(readers)
	db.r.SetMaxIdleConns(readers)
	return db.r.PingContext(ctx)
}

// connectAlone is connect on a full disk. SQLite cannot make the -shm file there by which connections
// share the log. A connection that locks the file for itself has that index in memory: it reads, and
// it writes as soon as there is room. The runs that an earlier process left wait for the next Open.
func (db *DB) connectAlone(ctx context.Context) error {
	have, err := db.check(ctx, true)
	if err != nil {
		return err
	}
	if err := db.openWriter("&_pragma=locking_mode(EXCLUSIVE)"); err != nil {
		return err
	}
	db.r = db.w
	if err := db.migrate(ctx, have); err != nil {
		return err
	}
	if err := db.Runs.interrupt(ctx); !IsFull(err) {
		return err
	}
	return nil
}

// openWriter opens the connection that writes.
func (db *DB) openWriter(extra string) (err error) {
	if db.w, err = sql.Open("sqlite", db.dsn("_txlock=immediate"+extra)); err != nil {
		return err
	}
	db.w.SetMaxOpenConns(1)
	db.w.SetMaxIdleConns(1)
	return nil
}

// dsn returns the address of the file, with the settings that all connections share. The driver sets
// the journal mode after the pragmas, and so after a locking mode, which must be the first to be set.
func (db *DB) dsn(extra string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(db.path),
		RawQuery: fmt.Sprintf("_pragma=busy_timeout(%d)", busyTimeout) +
			"&_journal_mode=WAL&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)&" + extra}
	return u.String()
}

// touch creates the file with mode 0600, and gives an existing one this mode. SQLite gives its -wal
// and -shm files the same mode.
func (db *DB) touch() error {
	if err := db.checkFiles("open database"); err != nil {
		return err
	}
	f, err := disk.OpenToWrite(db.path, 0, 0o600)
	if err == nil {
		err = errors.Join(f.Chmod(0o600), f.Close())
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		message := "the folder " + filepath.Dir(db.path) + " does not exist: create it first"
		if to, err := os.Readlink(db.path); err == nil {
			message = fmt.Sprintf("the database %s is a link to %s, which is not there: connect its disk, or "+
				"mend the link", db.path, to)
		}
		return &Error{Code: ReadOnly, Op: "open database", Message: message, Err: err}
	case errors.Is(err, fs.ErrPermission):
		return &Error{Code: ReadOnly, Op: "open database", Message: "the database " + db.path +
			" cannot be opened for writing: check the permissions of the file and its folder",
			Err: err}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &Error{Code: Full, Op: "open database", Message: db.fullMessage(), Err: err}
	}
	return err
}

// maxPath is the length of the longest path that SQLite opens, in bytes: 512 with the end of the
// longest name that it makes beside.
const maxPath = 512 - len("-journal")

// realPath returns a path as SQLite resolves it. The last name may not exist.
func realPath(path string) string {
	if dir, err := disk.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// checkFiles refuses a path that SQLite cannot open, and a database, or one of SQLite's files
// beside it, that is not a regular file: SQLite would wait for the other end of a named pipe.
func (db *DB) checkFiles(op string) error {
	if n := len(realPath(db.path)); n > maxPath {
		return &Error{Code: ReadOnly, Op: op, Message: fmt.Sprintf("the path of the database is %d "+
			"bytes long, and SQLite takes at most %d: choose a home folder with a shorter path", n,
			maxPath)}
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		err := disk.CheckFile(db.path + suffix)
		if kind, ok := errors.AsType[*disk.KindError](err); ok {
			return &Error{Code: ReadOnly, Op: op, Err: err, Message: fmt.Sprintf(
				"%s is %s, not a file: move it away first", db.path+suffix, kind.What)}
		}
		if silent, ok := errors.AsType[*disk.SilentError](err); ok {
			return &Error{Code: ReadOnly, Op: op, Err: err, Message: silent.Error()}
		}
	}
	return nil
}

// check returns the version of the schema. It refuses one that cannot be brought up to date, and a damaged
// file: it reads the whole of a file that was not closed. Its connection, see readOnly for alone, changes
// neither the file nor its log; a writer would fold the log into the file as it closes.
func (db *DB) check(ctx context.Context, alone bool) (have int64, err error) {
	const op = "open database"
	file, closed, err := db.readOnly(alone)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if !closed {
		db.log.Info("the database was not closed; checking it", "path", db.path)
		result, err := integrity(ctx, file)
		if err != nil {
			return 0, err
		}
		if result != "" {
			return 0, &Error{Code: Corrupt, Op: op, Message: db.corruptMessage(result)}
		}
	}
	if have, err = version(ctx, file); err != nil {
		return 0, err
	}
	return have, db.checkVersion(op, have)
}

// Integrity reads the whole file and returns the first problem, or "".
func (db *DB) Integrity(ctx context.Context) (problem string, err error) {
	problem, err = integrity(ctx, db.r)
	return problem, db.wrap("check database", err)
}

func integrity(ctx context.Context, db *sql.DB) (problem string, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&problem)
	if problem == "ok" {
		problem = ""
	}
	return problem, err
}

// Close waits for calls in progress and closes the file. The writer closes last, because it folds
// the log into the file.
func (db *DB) Close() error {
	db.end()
	db.working.Wait()
	err := db.disconnect()
	db.holder.close()
	return db.wrap("close database", err)
}

// disconnect closes the connections that are open.
func (db *DB) disconnect() error {
	var errs []error
	if db.r != nil && db.r != db.w {
		errs = append(errs, db.r.Close())
	}
	if db.w != nil {
		errs = append(errs, db.w.Close())
	}
	return errors.Join(errs...)
}
