package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// queueLimit is how long a run waits for another on the same machine.
	queueLimit = 150 * time.Minute
	// lockPause is the time between two tries to get the lock.
	lockPause = 100 * time.Millisecond
)

// A turn is the right to run on this machine. Commands of the run hold its lock open too: if this
// process is killed, the kernel takes the turn back when the last of them ends.
type turn struct {
	dir  string
	lock *os.File
}

// takeTurn waits until no other process runs a request with this state folder. It calls waiting
// once, if it has to wait.
func takeTurn(ctx context.Context, dir string, waiting func()) (*turn, error) {
	if err := os.MkdirAll(filepath.Join(dir, "nonces"), 0o700); err != nil {
		return nil, fmt.Errorf("the state folder cannot be made: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock of the bridge cannot be opened: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, queueLimit,
		fmt.Errorf("another run has kept this machine busy for %v; see what it does", queueLimit))
	defer cancel()
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return &turn{dir, lock}, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			lock.Close()
			return nil, fmt.Errorf("the lock of the bridge cannot be taken: %w", err)
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			lock.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// claim keeps a nonce from running again on this machine. The file of a nonce is empty and stays:
// a run takes minutes, so they remain few. Error: *RejectedError if it ran before.
func (t *turn) claim(nonce string) error {
	f, err := os.OpenFile(filepath.Join(t.dir, "nonces", nonce),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usedNonce(nonce)
	}
	if err != nil {
		return fmt.Errorf("the nonce cannot be noted: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

func usedNonce(nonce string) error {
	return reject("the nonce %s ran before on this machine; make a new request", nonce)
}

// end lets the next run go on, even if a process of this one left its group and lives on.
func (t *turn) end() {
	syscall.Flock(int(t.lock.Fd()), syscall.LOCK_UN)
	t.lock.Close()
}
