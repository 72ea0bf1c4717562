package main

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

// stampName is the file that marks an entry as complete; it is written last.
const stampName = ".complete"

// A cache is the folder that holds everything made outside the checkout. Its zero value is unusable.
//
// Two kinds of locks guard it, both flock and so released by the kernel when a process dies: every user of the
// cache holds folder lock shared while it makes an entry, clean holds it alone; and one entry is made by one
// process at a time.
type cache struct {
	dir     string
	waiting func(lock string) // told once of each lock that another holds; nil tells nobody
}

// An entry is one folder of the cache. Its name on disk carries a hash of the inputs: a changed pin, lock file or
// recipe makes another folder, and the old one stays for other checkouts until setup --clean.
type entry struct {
	name   string
	inputs []string
}

// path returns the folder of e, which need not exist.
func (c cache) path(e entry) string {
	h := sha256.New()
	for _, in := range e.inputs {
		fmt.Fprintf(h, "%d\n%s", len(in), in)
	}
	return filepath.Join(c.dir, e.name+"-"+hex.EncodeToString(h.Sum(nil))[:12])
}

// complete reports whether e has been made.
func (c cache) complete(e entry) bool {
	_, err := os.Stat(filepath.Join(c.path(e), stampName))
	return err == nil
}

// ensure returns the folder of e, calling fill to make it if it is not complete. Entries are filled in their final
// place, since virtual environments and run paths can't be moved; what a killed run left behind is removed first.
// fill must not call ensure.
func (c cache) ensure(ctx context.Context, e entry, fill func(dir string) error) (string, error) {
	dir := c.path(e)
	if c.complete(e) {
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
	if c.complete(e) { // another process made it while we waited
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
	return dir, os.WriteFile(filepath.Join(dir, stampName), []byte(stamp), 0o644)
}

// clean removes everything but what keep names, after waiting for those who make an entry.
func (c cache) clean(ctx context.Context, keep ...string) error {
	if _, err := os.Stat(c.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	alone, err := c.lock(ctx, "lock", syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer alone.Close()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "lock" || slices.Contains(keep, e.Name()) { // others may wait on this very lock
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// lock opens a file of the cache and waits until it holds the flock of kind how. Closing the file gives the lock back.
func (c cache) lock(ctx context.Context, name string, how int) (*os.File, error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(c.dir, name)
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

// link makes path a symbolic link to target in one step, so that no reader finds it missing. A link that is right
// already is left alone; anything but a link is an error.
func link(path, target string) error {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSymlink == 0 {
			return fmt.Errorf("%s is in the way of a link that setup makes; move it away", path)
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

// copyFile copies a regular file with mode 0644.
func copyFile(dst, src string) error {
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
