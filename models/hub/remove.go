package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/storage/disk"
)

// A removal lists what is deleted with a snapshot.
type removal struct {
	blobs []string // names
	plain int64    // bytes in files of the snapshot that are no links
}

// Remove deletes the snapshot in a folder that [Pull] returned, and returns the bytes that this
// freed. It deletes the refs of the snapshot and the blobs that no other snapshot links to. With
// the last snapshot it deletes the model's folder, half-finished downloads included.
//
// Of the path of a GGUF file in a snapshot it deletes that file, with its set, and leaves others.
//
// The caller knows whether the snapshot may be deleted: one that another program fetched must not
// be passed here. Errors: [Invalid], [NotFound] if the folder does not exist, [Busy] if a program
// is downloading the model, [Disk].
func Remove(dir string) (freed int64, err error) {
	if isGGUF(dir) {
		return removeGGUF(dir)
	}
	cacheDir, id, commit, err := ParseDir(dir)
	if err != nil {
		return 0, err
	}
	r := repo{cache: cacheDir, id: id}
	switch _, err := disk.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return 0, errorf(NotFound, id,
			"the cache has no such snapshot, so there is nothing to delete (%w)", err)
	case err != nil:
		return 0, diskError(id, err)
	}
	if freed, err = r.removeSnapshot(commit); err != nil {
		return freed, err
	}
	if left, err := r.snapshots(); err != nil || len(left) > 0 {
		return freed, nil
	}
	n, err := r.sweep()
	return freed + n, err
}

// removeSnapshot deletes a snapshot and the blobs that are its alone. It fails while the model is
// being downloaded.
func (r repo) removeSnapshot(commit string) (freed int64, err error) {
	unlock, busy, err := r.lockPartials()
	if err != nil {
		return 0, diskError(r.id, err)
	}
	defer unlock()
	if busy {
		return 0, errorf(Busy, r.id, "the model is being downloaded: stop that first")
	}
	plan, err := r.removal(commit)
	if err != nil {
		return 0, diskError(r.id, err)
	}
	// The snapshot goes last: if this breaks off, it still says which blobs were its own.
	if err := r.dropRefs(commit); err != nil {
		return 0, diskError(r.id, err)
	}
	for _, name := range plan.blobs {
		n, err := removeFile(r.blob(name))
		freed += n
		if err != nil {
			return freed, diskError(r.id, err)
		}
	}
	err = errors.Join(
		os.RemoveAll(r.snapshot(commit)),
		os.RemoveAll(filepath.Join(r.dir(), ".no_exist", commit)),
		ignoreMissing(os.Remove(filepath.Join(r.dir(), "trees", commit+".json"))))
	if err != nil {
		return freed, diskError(r.id, err)
	}
	return freed + plan.plain, nil
}

// snapshots lists the commits in the cache.
func (r repo) snapshots() ([]string, error) {
	entries, err := disk.ReadDir(filepath.Join(r.dir(), "snapshots"), 0)
	var commits []string
	for _, e := range entries {
		commits = append(commits, e.Name())
	}
	return commits, ignoreMissing(err)
}

// blobsOf returns the names of the blobs that a snapshot links to, and the bytes of plain files in
// it.
func (r repo) blobsOf(commit string) (names []string, plain int64, err error) {
	files, err := disk.Walk(r.snapshot(commit))
	for _, f := range files {
		target := f.Target
		if target == "" && f.Info.Mode().IsRegular() {
			plain += f.Info.Size()
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(f.Path), target)
		}
		if f.Target != "" && filepath.Dir(target) == filepath.Join(r.dir(), "blobs") {
			names = append(names, filepath.Base(target))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), plain, err
}

// removal finds the blobs that only this snapshot links to.
func (r repo) removal(commit string) (removal, error) {
	names, plain, err := r.blobsOf(commit)
	if err != nil {
		return removal{}, err
	}
	commits, err := r.snapshots()
	if err != nil {
		return removal{}, err
	}
	plan := removal{plain: plain}
	kept := make(map[string]bool)
	for _, other := range commits {
		if other == commit {
			continue
		}
		names, _, err := r.blobsOf(other)
		if err != nil {
			return removal{}, err
		}
		for _, name := range names {
			kept[name] = true
		}
	}
	for _, name := range names {
		if !kept[name] {
			plan.blobs = append(plan.blobs, name)
		}
	}
	return plan, nil
}

// payload returns the bytes that deleting a blob frees: none if it is a link into the store that
// models share.
func payload(blob string) int64 {
	if st, err := disk.Lstat(blob); err == nil && st.Mode().IsRegular() {
		return st.Size()
	}
	return 0
}

func removeFile(name string) (freed int64, err error) {
	freed = payload(name)
	if err := ignoreMissing(os.Remove(name)); err != nil {
		return 0, err
	}
	return freed, nil
}

// dropRefs removes the branches and tags that stand for a commit.
func (r repo) dropRefs(commit string) error {
	refs, err := disk.Walk(filepath.Join(r.dir(), "refs"))
	if err != nil {
		return ignoreMissing(err)
	}
	for _, ref := range refs {
		data, err := disk.ReadFile(ref.Path, maxRefBytes)
		if err != nil {
			continue // a damaged ref counts as none
		}
		if strings.TrimSpace(string(data)) == commit {
			err = os.Remove(ref.Path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lockPartials takes the locks of all partial files, so that no download runs meanwhile. busy
// reports that one runs.
func (r repo) lockPartials() (unlock func(), busy bool, err error) {
	var held []func()
	unlock = func() {
		for _, u := range held {
			u()
		}
	}
	entries, err := disk.ReadDir(filepath.Join(r.dir(), "blobs"), 0)
	if err = ignoreMissing(err); err != nil {
		return unlock, false, err
	}
	for _, etag := range etags(entries) {
		u, err := r.tryLock(etag)
		if err != nil || u == nil {
			return unlock, u == nil, err
		}
		held = append(held, u)
	}
	return unlock, false, nil
}

// etags returns the ETags of the partial files in a blobs folder. Newer Python names them
// ETAG.RANDOM.incomplete.
func etags(entries []fs.DirEntry) []string {
	var all []string
	for _, e := range entries {
		if stem, ok := strings.CutSuffix(e.Name(), ".incomplete"); ok {
			etag, _, _ := strings.Cut(stem, ".")
			all = append(all, etag)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sweep deletes the blobs and partial files that no snapshot links to and no program is writing. It
// deletes the folder if nothing is left.
func (r repo) sweep() (freed int64, err error) {
	commits, err := r.snapshots()
	if err != nil {
		return 0, diskError(r.id, err)
	}
	kept, err := r.linked()
	if err != nil {
		return 0, diskError(r.id, err)
	}
	entries, err := disk.ReadDir(filepath.Join(r.dir(), "blobs"), 0)
	if err = ignoreMissing(err); err != nil {
		return 0, diskError(r.id, err)
	}
	left := len(commits)
	for _, e := range entries {
		if kept[e.Name()] {
			left++
			continue
		}
		etag, _, _ := strings.Cut(e.Name(), ".")
		unlock, err := r.tryLock(etag)
		if err != nil {
			return freed, diskError(r.id, err)
		}
		if unlock == nil {
			left++
			continue
		}
		n, err := removeFile(r.blob(e.Name()))
		unlock()
		freed += n
		if err != nil {
			return freed, diskError(r.id, err)
		}
	}
	if left > 0 {
		return freed, nil
	}
	if err := os.RemoveAll(r.dir()); err != nil {
		return freed, diskError(r.id, err)
	}
	return freed, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
