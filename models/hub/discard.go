package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tandem/storage/disk"
)

// Discard deletes what unfinished pulls of a model have fetched, and returns the bytes that this
// freed. It deletes the given blobs, whose names [Options].Began got, whole or in parts. Blobs that
// a snapshot links to stay. If nothing else is left in the model's folder, it deletes the folder
// too. Errors: [Invalid], [Busy] if a program is downloading one of the blobs now, [Disk].
func Discard(cacheDir, id string, blobs []string) (freed int64, err error) {
	if _, _, err := Parse(id); err != nil {
		return 0, err
	}
	r := repo{cache: cacheDir, id: id}
	linked, err := r.linked()
	if err != nil {
		return 0, diskError(id, err)
	}
	for _, etag := range blobs {
		if newHash(etag, 0) == nil || linked[etag] {
			continue // not the name of a blob, or part of a snapshot
		}
		n, err := r.discard(etag)
		freed += n
		if err != nil {
			return freed, err
		}
	}
	for _, name := range []string{"blobs", "snapshots", "refs", ""} {
		_ = os.Remove(filepath.Join(r.dir(), name)) // folders that are not empty stay
	}
	return freed, nil
}

// discard deletes one blob, whole or in part.
func (r repo) discard(etag string) (freed int64, err error) {
	unlock, err := r.tryLock(etag)
	switch {
	case err != nil:
		return 0, diskError(r.id, err)
	case unlock == nil:
		return 0, errorf(Busy, r.id, "the model is being downloaded: stop that first")
	}
	defer unlock()
	for _, name := range []string{r.partial(etag), r.blob(etag)} {
		n, err := removeFile(name)
		freed += n
		if err != nil {
			return freed, diskError(r.id, err)
		}
	}
	return freed, nil
}

// linked returns the blobs that snapshots link to.
func (r repo) linked() (map[string]bool, error) {
	commits, err := r.snapshots()
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, commit := range commits {
		files, err := disk.Walk(r.snapshot(commit))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, f := range files {
			if name := r.blobOf(f); name != "" {
				all[name] = true
			}
		}
	}
	return all, nil
}

// Freed returns the bytes that [Remove] would free. It returns the same errors as Remove.
func Freed(path string) (int64, error) {
	t, err := targetOf(path)
	if err != nil {
		return 0, err
	}
	r := t.repo
	plan, err := t.plan()
	if err != nil {
		return 0, diskError(r.id, err)
	}
	n := plan.bytes(r)
	commits, err := r.snapshots()
	if err != nil || !plan.whole || !slices.Equal(commits, []string{t.commit}) {
		return n, nil
	}
	// The model's folder is deleted, with the blobs that no snapshot links to.
	entries, err := disk.ReadDir(filepath.Join(r.dir(), "blobs"), 0)
	if err = ignoreMissing(err); err != nil {
		return n, diskError(r.id, err)
	}
	for _, e := range entries {
		if !slices.Contains(plan.blobs, e.Name()) {
			n += payload(r.blob(e.Name()))
		}
	}
	return n, nil
}
