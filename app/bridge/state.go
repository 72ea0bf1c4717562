package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	// queueLimit is how long a run waits for another on the same machine. With the longest preset
	// it must fit into the workflow's job, or the job ends before the client learns why nothing
	// ran.
	queueLimit = 20 * time.Minute
	// lingerLimit is how long killed processes may take to end.
	lingerLimit = 5 * time.Second
	// lockPause is the time between two attempts to get the lock.
	lockPause = 100 * time.Millisecond
)

// A runLock is the right to run on this machine. It has two locks, which the kernel releases. Only
// this process holds the first, so whoever gets it knows that no other runner lives. The commands
// of the run hold the second too: if it is taken, they outlived a runner that was killed.
type runLock struct {
	dir  string
	run  *os.File // holds the process group of the command that runs
	lock *os.File
}

// acquireRunLock waits until no other process runs a request with this state folder, and ends what a
// killed runner left running. It calls waiting once, if it has to wait for another.
func acquireRunLock(ctx context.Context, dir string, waiting func()) (*runLock, error) {
	if err := os.MkdirAll(filepath.Join(dir, "nonces"), 0o700); err != nil {
		return nil, fmt.Errorf("the state folder cannot be made: %w", err)
	}
	queue, cancel := context.WithTimeoutCause(ctx, queueLimit,
		fmt.Errorf("another run has kept this machine busy for %v; ask again after it", queueLimit))
	defer cancel()
	run, err := waitForLock(queue, filepath.Join(dir, "run"), func() {
		if waiting != nil {
			waiting()
			waiting = nil
		}
	})
	if err != nil {
		return nil, err
	}
	linger, cancel := context.WithTimeoutCause(ctx, lingerLimit, fmt.Errorf(
		"a process of an earlier run still lives; end it on the Mac, where `lsof %s` in Tandem's folder names it",
		filepath.Join(filepath.Base(dir), "lock")))
	defer cancel()
	lock, err := waitForLock(linger, filepath.Join(dir, "lock"), func() { endGroup(run) })
	if err != nil {
		run.Close()
		return nil, err
	}
	t := &runLock{dir, run, lock}
	t.setGroup(0)
	return t, nil
}

// waitForLock opens a file and locks it. It calls busy after each try that fails.
func waitForLock(ctx context.Context, name string, busy func()) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock of the bridge cannot be opened: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			f.Close()
			return nil, fmt.Errorf("the lock of the bridge cannot be taken: %w", err)
		}
		busy()
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("the run did not begin: %w", context.Cause(ctx))
		}
	}
}

// setGroup records the process group of the running command, or 0. If it cannot be written, the
// next run does not end what a kill of this one leaves.
func (t *runLock) setGroup(group int) { writeGroup(t.run, group) }

func writeGroup(run *os.File, group int) {
	run.Truncate(0)
	if group > 0 {
		run.WriteAt([]byte(strconv.Itoa(group)), 0)
	}
}

// endGroup kills the recorded process group, once: afterwards the system may give its number to
// another.
func endGroup(run *os.File) {
	text := make([]byte, 20)
	n, _ := run.ReadAt(text, 0)
	if group, err := strconv.Atoi(string(text[:n])); err == nil && group > 1 {
		syscall.Kill(-group, syscall.SIGKILL)
		writeGroup(run, 0)
	}
}

// claimNonce keeps a nonce from running again on this machine. The file of a nonce is empty and is
// not removed: a run takes minutes, so there are few. Error: *RejectedError if it ran before.
func (t *runLock) claimNonce(nonce string) error {
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

// release lets the next run start, even if a process of this one left its group and keeps running.
func (t *runLock) release() {
	for _, f := range []*os.File{t.lock, t.run} {
		syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		f.Close()
	}
}
