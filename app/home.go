package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
	Owner string // what it wrote into the lock: its pid, and its address once it has one
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("Tandem already runs on %s (%s); use it, or stop it first", e.Dir, e.Owner)
}

// OpenHome makes the folder if need be, readable by its owner only, and locks
// it. Error: *LockedError.
func OpenHome(dir string) (*Home, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("home folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("home folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("home folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("home folder: %w", err)
	}
	// The kernel drops the lock with the process, however it ends.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer lock.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock of %s: %w", dir, err)
		}
		owner, _ := io.ReadAll(io.LimitReader(lock, 256))
		return nil, &LockedError{Dir: dir, Owner: strings.TrimSpace(string(owner))}
	}
	h := &Home{Dir: dir, lock: lock}
	return h, h.announce("")
}

// announce writes who holds the lock, for those who find it taken.
func (h *Home) announce(address string) error {
	text := fmt.Sprintf("pid %d", os.Getpid())
	if address != "" {
		text += " at " + address
	}
	if err := h.lock.Truncate(0); err != nil {
		return fmt.Errorf("lock of %s: %w", h.Dir, err)
	}
	if _, err := h.lock.WriteAt([]byte(text+"\n"), 0); err != nil {
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
