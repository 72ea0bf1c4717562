package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// StampName is the file that marks an entry as complete. It is written last.
const StampName = ".complete"

// A Cache is the folder for everything made outside the checkout. Its zero value cannot be used.
//
// Two kinds of locks guard it. Both are flock, so the kernel releases them when a process dies.
//   - Every user of the cache holds the file lock shared while it makes an entry. Clean holds it
//     alone.
//   - One process at a time makes an entry.
type Cache struct {
	Dir     string
	waiting func(lock string) // called once for each lock that another run holds; may be nil
}

// An Entry is one folder of the cache. Its name on disk carries a hash of the inputs. A changed
// pin, lock file or recipe makes another folder. The old one stays for other checkouts until setup
// --clean.
type Entry struct {
	Name   string
	Inputs []string
}

// Path returns the folder of e, which need not exist.
func (c Cache) Path(e Entry) string {
	h := sha256.New()
	for _, in := range e.Inputs {
		fmt.Fprintf(h, "%d\n%s", len(in), in)
	}
	return filepath.Join(c.Dir, e.Name+"-"+hex.EncodeToString(h.Sum(nil))[:12])
}

// Complete reports whether e has been made.
func (c Cache) Complete(e Entry) bool {
	_, err := os.Stat(filepath.Join(c.Path(e), StampName))
	return err == nil
}

// Ensure returns the folder of e. If it is not complete, Ensure calls fill to make it. Entries are
// filled in their final place, because virtual environments and run paths cannot be moved. The
// files of a killed run are removed first. fill must not call Ensure.
func (c Cache) Ensure(ctx context.Context, e Entry, fill func(dir string) error) (string, error) {
	dir := c.Path(e)
	if c.Complete(e) {
		return dir, nil
	}
	open, err := c.lock(ctx, "lock", syscall.LOCK_SH)
	if err != nil {
		return "", err
	}
	defer open.Close()
	own, err := c.lock(ctx, filepath.Base(dir)+".lock", syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer own.Close()
	if c.Complete(e) { // another process made it while we waited
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if err := fill(dir); err != nil {
		return "", err
	}
	stamp := time.Now().UTC().Format(time.RFC3339) + "\n"
	return dir, os.WriteFile(filepath.Join(dir, StampName), []byte(stamp), 0o644)
}

// Clean removes everything but the names in keep. First it waits for processes that make an entry.
func (c Cache) Clean(ctx context.Context, keep ...string) error {
	if _, err := os.Stat(c.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	alone, err := c.lock(ctx, "lock", syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer alone.Close()
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		// others may be waiting for this lock
		if e.Name() == "lock" || slices.Contains(keep, e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.Dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Quiet makes trainings that use the cache wait until the lock is closed. Benches and tests hold it
// together. build/starter/quiet.py waits for it.
func (c Cache) Quiet(ctx context.Context) (io.Closer, error) {
	return c.lock(ctx, "quiet.lock", syscall.LOCK_SH)
}

// lock opens a file of the cache and waits until it holds the flock of kind how. Closing the file
// releases the lock.
func (c Cache) lock(ctx context.Context, name string, how int) (*os.File, error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(c.Dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !told && c.waiting != nil {
			c.waiting(path)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Link makes path a symbolic link to target in one step, so that no reader finds it missing. It
// leaves a right link alone. Anything but a link in that place is an error.
func Link(path, target string) error {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSymlink == 0 {
			return fmt.Errorf("%s is where setup makes a link; move it away", path)
		}
		if old, err := os.Readlink(path); err == nil && old == target {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.Symlink(target, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		os.Remove(temp)
		return err
	}
	return nil
}

// CopyFile copies a regular file with mode 0644.
func CopyFile(dst, src string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(dst)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
