package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Discard deletes what pulls of a model have fetched and did not bring to an end: of the given
// blobs, whose names [Options].Began told, those that no snapshot links to, whole or in parts. With
// the last of them the model's folder goes, if nothing else is in it. It returns the bytes that
// this freed. Errors: [Invalid], [Busy] if a program is downloading one of them now, [Disk].
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
			continue // no name of a blob, or a snapshot's own
		}
		n, err := r.discard(etag)
		freed += n
		if err != nil {
			return freed, err
		}
	}
	for _, name := range []string{"blobs", "snapshots", "refs", ""} {
		_ = os.Remove(filepath.Join(r.dir(), name)) // what is not empty stays
	}
	return freed, nil
}

// discard deletes one blob and the part of it.
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
		names, _, err := r.blobsOf(commit)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, name := range names {
			all[name] = true
		}
	}
	return all, nil
}

// Freed returns the bytes that [Remove] would free. Errors: those of Remove.
func Freed(dir string) (int64, error) {
	cacheDir, id, commit, err := ParseDir(dir)
	if err != nil {
		return 0, err
	}
	r := repo{cache: cacheDir, id: id}
	if _, err := os.Stat(dir); err != nil {
		return 0, errorf(NotFound, id, "the cache has no such snapshot, so there is nothing to delete (%w)", err)
	}
	plan, err := r.removal(commit)
	if err != nil {
		return 0, diskError(id, err)
	}
	n := plan.plain
	for _, name := range plan.blobs {
		n += payload(r.blob(name))
	}
	commits, err := r.snapshots()
	if err != nil || !slices.Equal(commits, []string{commit}) {
		return n, nil
	}
	// The model's folder goes, with what nothing refers to.
	entries, err := os.ReadDir(filepath.Join(r.dir(), "blobs"))
	if err = ignoreMissing(err); err != nil {
		return n, diskError(id, err)
	}
	for _, e := range entries {
		if !slices.Contains(plan.blobs, e.Name()) {
			n += payload(r.blob(e.Name()))
		}
	}
	return n, nil
}
