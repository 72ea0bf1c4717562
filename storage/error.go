package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A Code says what kind of failure an [Error] is.
type Code string

const (
	NotFound Code = "not_found" // there is no such row
	// the row exists already, or is in another state than the call needs
	Conflict Code = "conflict"
	Invalid  Code = "invalid"   // the record breaks a rule of the schema
	Corrupt  Code = "corrupt"   // the file is damaged
	Full     Code = "full"      // no space left for the file
	Busy     Code = "busy"      // another process holds the file
	ReadOnly Code = "read_only" // the file or its folder may not be written
	Newer    Code = "newer"     // the file was written by a newer program
	Older    Code = "older"     // the file has the schema of an older program
	Empty    Code = "empty"     // the file has no schema yet, and may not be changed
	Internal Code = "internal"  // anything else
)

// An Error is what every function of this package returns, except for the error of a cancelled
// context.
type Error struct {
	Code    Code
	Op      string // the attempt, in lower case
	Message string // one sentence for a person
	Err     error  // the cause, may be nil
}

func (e *Error) Error() string { return e.Op + ": " + e.Message }

func (e *Error) Unwrap() error { return e.Err }

// invalid returns an [Invalid] error.
func invalid(op, format string, args ...any) *Error {
	return &Error{Code: Invalid, Op: op, Message: fmt.Sprintf(format, args...)}
}

// IsFull reports whether err says that the disk has no room for the file.
func IsFull(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == Full
}

// IsNotFound reports whether err says that there is no such row.
func IsNotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == NotFound
}

// wrap turns an error of database/sql into an *Error that names the file and the way out.
func (db *DB) wrap(op string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	e := &Error{Code: Internal, Op: op, Message: err.Error(), Err: err}
	if held, ok := errors.AsType[*heldError](err); ok {
		e.Code, e.Message = Busy, held.message
		return e
	}
	if errors.Is(err, sql.ErrNoRows) {
		e.Code, e.Message = NotFound, "no such row"
		return e
	}
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return e
	}
	switch se.Code() {
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE:
		e.Code = Conflict
		return e
	}
	primary := se.Code() & 0xff
	if (primary == sqlite3.SQLITE_IOERR || primary == sqlite3.SQLITE_CANTOPEN) && db.diskIsFull() {
		primary = sqlite3.SQLITE_FULL // SQLite does not tell it apart for the files beside
	}
	switch primary { // the rest of the code is detail
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG:
		e.Code = Invalid
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Code, e.Message = Corrupt, db.corruptMessage(se.Error())
	case sqlite3.SQLITE_FULL:
		e.Code, e.Message = Full, db.fullMessage()
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		e.Code = Busy
		e.Message = db.busyMessage()
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		e.Code = ReadOnly
		e.Message = fmt.Sprintf("the database %s cannot be opened for writing: check the permissions of the file and its folder (%v)",
			db.path, se)
	}
	return e
}

// wrapRow is wrap for a statement about one row. missing is the message for a row that is not there.
func (db *DB) wrapRow(op, missing string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return &Error{Code: NotFound, Op: op, Message: missing, Err: err}
	}
	return db.wrap(op, err)
}

// busyMessage names the process that holds the file.
func (db *DB) busyMessage() string {
	return fmt.Sprintf("%s holds the database %s: close it and try again",
		db.holder.name(db.path), db.path)
}

// ClientMessage returns the code and the message for a client, if the error is the machine's. They are empty
// for any other error.
func (e *Error) ClientMessage() (code, message string) {
	switch e.Code {
	case Busy:
		code = "database_busy"
	case Full:
		code = "disk_full"
	case ReadOnly, Corrupt:
		code = "folder_unusable"
	default:
		return "", ""
	}
	return code, strings.ToUpper(e.Message[:1]) + e.Message[1:] + "."
}

// minFree is how much a database needs for its log and for the index of the log, in bytes.
const minFree = 64 << 10

// diskIsFull reports whether the disk has no room for the files beside the database.
func (db *DB) diskIsFull() bool {
	var disk unix.Statfs_t
	return unix.Statfs(filepath.Dir(db.path), &disk) == nil &&
		(uint64(disk.Bavail)*uint64(disk.Bsize) < minFree || disk.Files > 0 && disk.Ffree == 0)
}

func (db *DB) fullMessage() string {
	return fmt.Sprintf("no space left for the database %s: free some space on its disk; what was "+
		"stored before is safe", db.path)
}

// corruptMessage says what to do with a damaged file.
func (db *DB) corruptMessage(reason string) string {
	return fmt.Sprintf("the database %s is damaged (%s); it was left as it is. Stop Tandem and move it aside, with the -wal and -shm files beside it, to start with an empty one",
		db.path, reason)
}
