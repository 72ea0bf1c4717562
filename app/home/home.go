package home

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tandem/storage/disk"
)

// Names in the home folder.
const (
	DatabaseFile  = "tandem.db" // the database of package storage
	ConnectFolder = "connect"   // settings files for editors and agents, in a folder for each
)

// A Home is the folder that holds everything Tandem keeps, locked by this
// process.
type Home struct {
	Dir  string
	lock *os.File
}

// LockedError says that another process serves the home folder.
type LockedError struct {
	Dir   string
	Owner string // its pid, and its address once it has one, from the lock
}

func (e *LockedError) Error() string {
	if e.Owner != unknownOwner && !strings.Contains(e.Owner, " at ") {
		return fmt.Sprintf("Tandem already runs on %s (%s), without an endpoint; end it first, for example a chat in another terminal",
			e.Dir, e.Owner)
	}
	return fmt.Sprintf("Tandem already runs on %s (%s); use it, or stop it first", e.Dir, e.Owner)
}

// Make makes the folder if needed, readable by its owner only. Every process calls it before it
// writes there: the first one closes an empty folder to others, which the next ones could not do any
// more.
func Make(dir string) error {
	_, err := disk.Stat(dir)
	if _, silent := errors.AsType[*disk.SilentError](err); !silent {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = closeToOthers(dir)
	}
	return Unusable(err)
}

// CheckWritable returns why the folder can be neither written nor made, or nil. It changes nothing.
func CheckWritable(dir string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := disk.Stat(at)
		switch {
		case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && at != filepath.Dir(at):
			continue // Make makes it in its parent
		case err != nil:
			return Unusable(err)
		case !info.IsDir():
			return Unusable(&fs.PathError{Op: "open", Path: at, Err: syscall.ENOTDIR})
		}
		if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
			return Unusable(&fs.PathError{Op: "write", Path: at, Err: err})
		}
		return nil
	}
}

// Unusable says of an error what to do about a home folder in which files cannot be made or written; nil
// stays nil.
func Unusable(err error) error {
	is := func(kinds ...syscall.Errno) bool {
		return slices.ContainsFunc(kinds, func(k syscall.Errno) bool { return errors.Is(err, k) })
	}
	_, kind := errors.AsType[*disk.KindError](err)
	remedy := ""
	switch {
	case err == nil:
		return nil
	case is(syscall.EACCES, syscall.EPERM):
		remedy = "make it yours to read and to write"
	case is(syscall.EROFS):
		remedy = "mount its disk for writing"
	case is(syscall.ENOSPC, syscall.EDQUOT): // a disk also runs out of inodes
		remedy = "free some space on its disk"
	case is(syscall.ENOTDIR, syscall.EISDIR, syscall.ENOTEMPTY), kind:
		remedy = "move away what is in its place"
	case is(syscall.EEXIST, syscall.ELOOP): // a link that leads nowhere exists
		remedy = "mend the link"
	case is(syscall.ENAMETOOLONG):
		remedy = "shorten its path"
	case is(syscall.EIO, syscall.ENXIO, syscall.ENODEV, syscall.ESTALE):
		remedy = "check its disk"
	default:
		return fmt.Errorf("home folder: %w", err)
	}
	return fmt.Errorf("home folder: %w; %s, or set TANDEM_HOME to another folder", err, remedy)
}

// Open makes the folder and locks it. Error: *LockedError if another process holds the lock.
func Open(dir string) (*Home, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("home folder: %w", err)
	}
	if err := Make(dir); err != nil {
		return nil, err
	}
	lock, err := disk.OpenToWrite(filepath.Join(dir, "lock"), 0, 0o600)
	if err != nil {
		return nil, Unusable(err)
	}
	// The kernel drops the lock with the process, however it ends.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer lock.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock of %s: %w", dir, err)
		}
		return nil, &LockedError{Dir: dir, Owner: ownerOf(lock)}
	}
	h := &Home{Dir: dir, lock: lock}
	return h, h.Announce("")
}

// closeEntries takes the rights of others from the folders and files right below the home. Links are
// left alone.
func (h *Home) closeEntries() error {
	entries, err := disk.ReadDir(h.Dir, 0)
	errs := []error{err}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !(info.IsDir() || info.Mode().IsRegular()) || info.Mode().Perm()&0o077 == 0 {
			continue // one that is gone meanwhile needs nothing
		}
		errs = append(errs, os.Chmod(h.Path(e.Name()), info.Mode().Perm()&0o700))
	}
	return errors.Join(errs...)
}

// LostDatabase reports whether the database is missing or empty although one of the folders below the
// home holds files that a Tandem with a database left.
func (h *Home) LostDatabase(folders ...string) bool {
	info, err := os.Stat(h.Path(DatabaseFile))
	if err == nil && (info.Size() > 0 || !info.Mode().IsRegular()) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		entries, err := disk.ReadDir(h.Path(folder), 1)
		return err == nil && len(entries) > 0
	})
}

// Sweep removes the incomplete files of an interrupted WritePrivate, since they may hold a secret, and
// takes the rights of others from what is in the folder.
func (h *Home) Sweep() error {
	errs := []error{h.closeEntries()}
	for _, pattern := range []string{newFile, path.Join(ConnectFolder, "*", newFile)} {
		names, err := fs.Glob(os.DirFS(h.Dir), pattern)
		errs = append(errs, err)
		for _, name := range names {
			errs = append(errs, RemoveIfThere(h.Path(name)))
		}
	}
	return errors.Join(errs...)
}

// Owner returns the text that the process in a home folder wrote into the lock, or an empty text if
// no process holds it. It changes nothing.
func Owner(dir string) (string, error) {
	lock, err := disk.Open(filepath.Join(dir, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("home folder: %w", err)
	}
	defer lock.Close() // this releases the lock
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return "", err
	}
	return ownerOf(lock), nil
}

// unknownOwner is the owner of a lock whose text the disk had no room for.
const unknownOwner = "another process"

// ownerOf reads a lock that another process holds.
func ownerOf(lock io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(lock, 256))
	return cmp.Or(strings.TrimSpace(string(text)), unknownOwner)
}

// closeToOthers makes a folder readable by its owner only. It refuses a folder that holds other
// files, which may be meant for other users.
func closeToOthers(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	ours := slices.ContainsFunc(files,
		func(f os.DirEntry) bool { return f.Name() == "lock" || f.Name() == DatabaseFile })
	if len(files) > 0 && !ours {
		return fmt.Errorf(
			"%s holds other files and is open to other users; choose an empty folder, or let only "+
				"its owner open it (chmod 700)", dir)
	}
	return os.Chmod(dir, 0o700)
}

// Announce writes this process and its address into the lock, for processes that find it taken. On a
// full disk the lock is empty.
func (h *Home) Announce(address string) error {
	text := fmt.Sprintf("pid %d", os.Getpid())
	if address != "" {
		text += " at " + address
	}
	text += "\n"
	// In this order the file is never empty for a process that reads it now.
	_, err := h.lock.WriteAt([]byte(text), 0)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		text, err = "", nil
	}
	if err := errors.Join(err, h.lock.Truncate(int64(len(text)))); err != nil {
		return fmt.Errorf("lock of %s: %w", h.Dir, err)
	}
	return nil
}

// Path joins names to the folder.
func (h *Home) Path(names ...string) string {
	return filepath.Join(append([]string{h.Dir}, names...)...)
}

// Close releases the lock.
func (h *Home) Close() error { return h.lock.Close() }
