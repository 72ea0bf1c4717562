package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/models/gguf"
	"tandem/storage/disk"
)

// Remove deletes the snapshot in a folder that [Pull] returned, and returns the bytes that this
// freed. It deletes the refs of the snapshot and the blobs that no other snapshot links to. With
// the last snapshot it deletes the model's folder, half-finished downloads included. GGUF files in
// the snapshot are other models: they and their refs stay.
//
// For the path of a GGUF file in a snapshot it deletes that file, with its set, and no others.
//
// The caller knows whether the snapshot may be deleted: one that another program fetched must not
// be passed here. Errors: [Invalid], [NotFound] if the folder does not exist, [Busy] if a program
// is downloading the model, [Disk].
func Remove(path string) (freed int64, err error) {
	t, err := targetOf(path)
	if err != nil {
		return 0, err
	}
	freed, err = t.remove()
	if err != nil {
		return freed, err
	}
	if left, err := t.repo.snapshots(); err != nil || len(left) > 0 {
		return freed, nil
	}
	n, err := t.repo.sweep()
	return freed + n, err
}

// A target is a model in a snapshot: a GGUF file with its set, or all files that are not GGUF
// files.
type target struct {
	repo   repo
	commit string
	set    []string // paths of a set's files; nil for the other form
}

// targetOf returns the model that [Remove] gets. Errors: [Invalid], [NotFound].
func targetOf(path string) (t target, err error) {
	dir := path
	if isGGUF(path) {
		if dir, err = SnapshotOf(path); err != nil {
			return t, err
		}
		t.set = gguf.Set(filepath.Clean(path))
	}
	cacheDir, id, commit, err := ParseDir(dir)
	if err != nil {
		return t, err
	}
	t.repo, t.commit = repo{cache: cacheDir, id: id}, commit
	_, err = disk.Stat(dir)
	if err == nil && t.set != nil && !slices.ContainsFunc(t.set, func(file string) bool {
		_, err := disk.Lstat(file)
		return err == nil
	}) {
		err = fs.ErrNotExist
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, errorf(NotFound, id,
			"the cache has no such files, so there is nothing to delete (%w)", err)
	case err != nil:
		return t, diskError(id, err)
	}
	return t, nil
}

// has reports whether a file of the snapshot belongs to the model.
func (t target) has(file string) bool {
	if t.set == nil {
		return !isGGUF(file)
	}
	return slices.Contains(t.set, file)
}

// A removal lists what is deleted with a model.
type removal struct {
	files []string // paths in the snapshot
	blobs []string // names, to which nothing else links
	plain int64    // bytes in files that are not links
	whole bool     // the snapshot has no other files
}

// bytes returns what a removal frees.
func (p removal) bytes(r repo) int64 {
	n := p.plain
	for _, name := range p.blobs {
		n += payload(r.blob(name))
	}
	return n
}

// plan finds what is deleted with the model.
func (t target) plan() (removal, error) {
	plan := removal{whole: true}
	commits, err := t.repo.snapshots()
	if err != nil {
		return plan, err
	}
	kept := map[string]bool{}
	for _, commit := range commits {
		files, err := disk.Walk(t.repo.snapshot(commit))
		if err != nil {
			return plan, err
		}
		for _, f := range files {
			blob := t.repo.blobOf(f)
			switch {
			case commit != t.commit:
				kept[blob] = true
				continue
			case !t.has(f.Path):
				kept[blob], plan.whole = true, false
				continue
			case blob != "":
				plan.blobs = append(plan.blobs, blob)
			case f.Info.Mode().IsRegular():
				plan.plain += f.Info.Size()
			}
			plan.files = append(plan.files, f.Path)
		}
	}
	slices.Sort(plan.blobs)
	plan.blobs = slices.DeleteFunc(slices.Compact(plan.blobs),
		func(name string) bool { return kept[name] })
	return plan, nil
}

// remove deletes the model. It fails while the repository is being downloaded.
func (t target) remove() (freed int64, err error) {
	r := t.repo
	unlock, busy, err := r.lockPartials()
	defer unlock()
	switch {
	case err != nil:
		return 0, diskError(r.id, err)
	case busy:
		return 0, errorf(Busy, r.id, "the model is being downloaded: stop that first")
	}
	plan, err := t.plan()
	if err == nil && plan.whole {
		err = r.deleteRefs(t.commit)
	}
	if err != nil {
		return 0, diskError(r.id, err)
	}
	// The links are deleted last: after an interruption they still say which blobs were the model's
	// own.
	for _, name := range plan.blobs {
		n, err := removeFile(r.blob(name))
		freed += n
		if err != nil {
			return freed, diskError(r.id, err)
		}
	}
	if plan.whole {
		err = errors.Join(
			os.RemoveAll(r.snapshot(t.commit)),
			os.RemoveAll(filepath.Join(r.dir(), ".no_exist", t.commit)),
			ignoreMissing(os.Remove(filepath.Join(r.dir(), "trees", t.commit+".json"))))
	} else {
		err = r.removeLinks(t.commit, plan.files)
	}
	if err != nil {
		return freed, diskError(r.id, err)
	}
	return freed + plan.plain, nil
}

// removeLinks deletes files of a snapshot, and folders that become empty.
func (r repo) removeLinks(commit string, files []string) error {
	for _, file := range files {
		if err := ignoreMissing(os.Remove(file)); err != nil {
			return err
		}
		for dir := filepath.Dir(file); dir != r.snapshot(commit); dir = filepath.Dir(dir) {
			if os.Remove(dir) != nil { // it has other files
				break
			}
		}
	}
	return nil
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

// blobOf returns the name of the blob that a file of a snapshot links to, or "".
func (r repo) blobOf(f disk.Found) string {
	target := f.Target
	if target == "" {
		return ""
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(f.Path), target)
	}
	if filepath.Dir(target) != filepath.Join(r.dir(), "blobs") {
		return ""
	}
	return filepath.Base(target)
}

// payload returns the bytes that deleting a blob frees: 0 if it is a link into the store that
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

// deleteRefs deletes the refs of branches and tags at a commit.
func (r repo) deleteRefs(commit string) error {
	refs, err := disk.Walk(filepath.Join(r.dir(), "refs"))
	if err != nil {
		return ignoreMissing(err)
	}
	for _, ref := range refs {
		data, err := disk.ReadFile(ref.Path, maxRefBytes)
		if err != nil {
			continue // a damaged ref counts as missing
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
// reports whether one runs.
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
