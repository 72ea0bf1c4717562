package hub

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tandem/storage/disk"
)

// lockPoll is the pause between attempts to take a lock. A blocking flock could not be cancelled.
const lockPoll = 250 * time.Millisecond

// maxRefBytes bounds the file of a branch or a tag, which holds a commit.
const maxRefBytes = 1 << 10

// A repo is the folder of one model in the cache.
type repo struct {
	cache string
	id    string
}

func (r repo) folder() string {
	return "models--" + strings.ReplaceAll(r.id, "/", "--")
}
func (r repo) dir() string                { return filepath.Join(r.cache, r.folder()) }
func (r repo) blob(etag string) string    { return filepath.Join(r.dir(), "blobs", etag) }
func (r repo) partial(etag string) string { return r.blob(etag) + ".incomplete" }
func (r repo) snapshot(c string) string   { return filepath.Join(r.dir(), "snapshots", c) }
func (r repo) ref(revision string) string {
	return filepath.Join(r.dir(), "refs", filepath.FromSlash(revision))
}
func (r repo) lockFile(etag string) string {
	return filepath.Join(r.cache, ".locks", r.folder(), etag+".lock")
}

// ParseDir splits the folder of a snapshot, as [Pull] and [Resolve] return it. The folder need not
// exist. Error: [Invalid].
func ParseDir(dir string) (cacheDir, id, commit string, err error) {
	dir = filepath.Clean(dir)
	commit, model := filepath.Base(dir), filepath.Dir(filepath.Dir(dir))
	r := repo{cache: filepath.Dir(model)}
	if folder, ok := strings.CutPrefix(filepath.Base(model), "models--"); ok {
		r.id = strings.Replace(folder, "--", "/", 1)
	}
	_, _, err = Parse(r.id)
	if err != nil || strings.Contains(r.id, "@") || !isCommit(commit) || r.snapshot(commit) != dir {
		return "", "", "", errorf(Invalid, "", "%q is not a snapshot in a hub's cache", dir)
	}
	return r.cache, r.id, commit, nil
}

// SnapshotOf returns the snapshot that holds a GGUF file of the cache. Error: [Invalid].
func SnapshotOf(file string) (dir string, err error) {
	dir = filepath.Dir(filepath.Clean(file))
	for range ggufDepth + 1 {
		if _, _, _, err = ParseDir(dir); err == nil {
			return dir, nil
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// NameOf returns the name by which [Pull] takes the model at a path in a hub's cache: its id, with
// the quantization of a GGUF file. It returns "" for another path.
func NameOf(path string) string {
	dir, quantization := path, ""
	if isGGUF(path) {
		if snapshot, err := SnapshotOf(path); err == nil {
			dir, quantization = snapshot, Quantization(path)
		}
	}
	_, id, _, err := ParseDir(dir)
	if err != nil {
		return ""
	}
	if quantization != "" {
		id += ":" + quantization
	}
	return id
}

// commit returns the commit of a revision on disk, or "".
func (r repo) commit(revision string) (string, error) {
	if isCommit(revision) {
		return revision, nil
	}
	data, err := disk.ReadFile(r.ref(revision), maxRefBytes)
	_, odd := errors.AsType[*disk.KindError](err)
	if errors.Is(err, fs.ErrNotExist) || odd {
		return "", nil
	}
	if err != nil {
		return "", diskError(r.id, err)
	}
	if c := strings.TrimSpace(string(data)); isCommit(c) {
		return c, nil
	}
	return "", nil // a damaged ref counts as missing
}

// setRef writes the commit of a revision.
func (r repo) setRef(revision, commit string) error {
	if revision == commit {
		return nil
	}
	name := r.ref(revision)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".ref-*")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(commit)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// link makes a file of a snapshot and replaces what has its name. It reports false if the link
// exists already. The folder is opened as a root, so that no name can lead out of it.
func (r repo) link(snapshot *os.Root, name, etag string) (made bool, err error) {
	if dir := path.Dir(name); dir != "." {
		if err := snapshot.MkdirAll(dir, 0o777); err != nil {
			return false, err
		}
	}
	target := strings.Repeat("../", 2+strings.Count(name, "/")) + "blobs/" + etag
	if old, err := snapshot.Readlink(name); err == nil && old == target {
		return false, nil
	}
	if st, err := snapshot.Lstat(name); err == nil && st.IsDir() {
		return false, &fs.PathError{Op: "link", Path: filepath.Join(snapshot.Name(), name),
			Err: &disk.KindError{What: "a folder"}}
	}
	tmp := name + ".link"
	snapshot.Remove(tmp) // left from a crash
	if err := snapshot.Symlink(target, tmp); err != nil {
		return false, err
	}
	return true, snapshot.Rename(tmp, name)
}

// lock takes the lock of a blob. It calls waiting each time another program holds it.
func (r repo) lock(ctx context.Context, etag string, waiting func()) (unlock func(), err error) {
	for {
		unlock, err = r.tryLock(etag)
		if unlock != nil || err != nil {
			return unlock, err
		}
		waiting()
		if err := sleep(ctx, lockPoll); err != nil {
			return nil, err
		}
	}
}

// tryLock takes the lock of a blob. If another program holds it, unlock and err are nil.
func (r repo) tryLock(etag string) (unlock func(), err error) {
	name := r.lockFile(etag)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	// Nothing is written to the lock, so it may have another name: a copy of the cache may share it.
	f, err := disk.OpenToWrite(name, unix.O_NOFOLLOW, 0o666)
	if errors.Is(err, unix.ELOOP) {
		os.Remove(name) // a symbolic link
		f, err = disk.OpenToWrite(name, unix.O_NOFOLLOW, 0o666)
	}
	if err != nil {
		return nil, err
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		f.Close()
		return nil, nil
	case err != nil:
		f.Close()
		return nil, err
	}
	// Closing releases the lock. The file stays: if it were removed, two could hold the lock.
	return func() { f.Close() }, nil
}

// freeSpace returns the bytes that a user may still write to the disk of a folder. The folder need
// not exist yet.
func freeSpace(dir string) (int64, error) {
	for {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if errors.Is(err, unix.ENOENT) && filepath.Dir(dir) != dir {
			dir = filepath.Dir(dir)
			continue
		}
		return int64(uint64(st.Bavail) * uint64(st.Bsize)), err
	}
}

// sleep waits for d, or until ctx is done. It returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
