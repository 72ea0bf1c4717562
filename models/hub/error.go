package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"tandem/storage/disk"
)

// A Code says what kind of failure an [Error] is.
type Code string

const (
	Invalid      Code = "invalid"       // the name of the model is not valid
	BadOption    Code = "bad_option"    // an option is not valid
	NotFound     Code = "not_found"     // no such model, revision or file
	Gated        Code = "gated"         // the hub wants a token, or its terms accepted
	Unsupported  Code = "unsupported"   // the repository has no safetensors model in it
	Unsafe       Code = "unsafe"        // the hub names files outside the model's folder
	Offline      Code = "offline"       // the hub cannot be reached, or may not be
	RateLimited  Code = "rate_limited"  // the hub asks for a long pause
	Unavailable  Code = "unavailable"   // the hub failed again and again
	BadReply     Code = "bad_reply"     // the hub's answer is not valid
	Truncated    Code = "truncated"     // the connection ended too early again and again
	HashMismatch Code = "hash_mismatch" // a file is not what the hub announced; it was removed
	DiskFull     Code = "disk_full"     // no room for the model
	Disk         Code = "disk"          // the cache folder cannot be read or written
	Incomplete   Code = "incomplete"    // the model on disk lacks files
	Damaged      Code = "damaged"       // a file of the model on disk is not valid
	Busy         Code = "busy"          // another program is downloading the model
)

// An Error is what every function of this package returns, except for the error of a cancelled
// context.
type Error struct {
	Code    Code
	Name    string // the model, as the caller named it, or ""
	Message string // for a person: what happened, and what to do
	Err     error  // the cause, may be nil
	Dir     string // the snapshot that an error of Resolve is about, or ""

	what string // of Incomplete: the message without what to do
}

func (e *Error) Error() string {
	if e.Name == "" {
		return e.Message
	}
	return e.Name + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Err }

func errorf(code Code, name, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Name: name, Message: err.Error(), Err: errors.Unwrap(err)}
}

// someGGUF is the prefix of a quantization that is listed in place of a file's name.
const someGGUF = "a GGUF file of "

// incomplete returns the error of a model that is only partly on disk. missing lists the files that
// it lacks, as far as they are known.
func incomplete(name string, missing []string) *Error {
	what := "the model is only half downloaded"
	switch {
	case len(missing) > 0 && strings.HasPrefix(missing[0], someGGUF): // others may be whole
		what = lacking(missing)
	case len(missing) > 0:
		what += ", " + lacking(missing)
	}
	return &Error{
		Code: Incomplete, Name: name, what: what,
		Message: what + ": download it again to complete it",
	}
}

// offlineError says why a model cannot be used while downloads are switched off. err is the error
// of [Resolve].
func offlineError(name, cacheDir string, err error) error {
	var what string
	switch e, _ := errors.AsType[*Error](err); {
	case e == nil:
		return err
	case e.Code == NotFound:
		what = "the model is not in the cache " + cacheDir
	case e.Code == Incomplete:
		what = e.what + " in the cache " + cacheDir
	default:
		return err // the cache itself is at fault
	}
	return &Error{Code: Offline, Name: name, Err: err,
		Message: what + ", and HF_HUB_OFFLINE forbids downloading it: unset HF_HUB_OFFLINE and pull again"}
}

// diskError returns the error of a file operation in the cache.
func diskError(name string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return errorf(DiskFull, name,
			"the disk is full: free some space and pull again, what has arrived is kept (%w)", err)
	}
	if kind, ok := errors.AsType[*disk.KindError](err); ok {
		path := "a file of the cache"
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			path = e.Path
		}
		return errorf(Disk, name, "%s is %s, not a file: delete it and pull again", path,
			kind.What)
	}
	if silent, ok := errors.AsType[*disk.SilentError](err); ok {
		return errorf(Disk, name, "%w", silent)
	}
	return errorf(Disk, name,
		"the cache folder cannot be used: check its permissions and its disk (%w)", err)
}
