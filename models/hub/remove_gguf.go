package hub

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/storage/disk"
)

// SnapshotOf returns the snapshot that a GGUF file of the cache lies in. Error: [Invalid].
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

// A fileRemoval is what goes with a GGUF file of a snapshot that has other files too.
type fileRemoval struct {
	repo  repo
	links []string // paths of the set's files
	blobs []string // names, that no other file links to
	last  string   // the snapshot, if nothing else is in it
}

// removalOf plans the removal of a GGUF file, with all of its set.
func removalOf(file string) (fileRemoval, error) {
	dir, err := SnapshotOf(file)
	if err != nil {
		return fileRemoval{}, err
	}
	cacheDir, id, _, err := ParseDir(dir)
	if err != nil {
		return fileRemoval{}, err
	}
	plan := fileRemoval{repo: repo{cache: cacheDir, id: id}}
	folder, base := filepath.Split(filepath.Clean(file))
	for _, name := range ggufSet(base) {
		if _, err := disk.Lstat(filepath.Join(folder, name)); err == nil {
			plan.links = append(plan.links, filepath.Join(folder, name))
		}
	}
	if len(plan.links) == 0 {
		return plan, errorf(NotFound, id, "the cache has no such file, so there is nothing to delete")
	}
	commits, err := plan.repo.snapshots()
	if err != nil {
		return plan, diskError(id, err)
	}
	kept := map[string]bool{}
	others := 0
	for _, commit := range commits {
		files, err := disk.Walk(plan.repo.snapshot(commit))
		if err != nil {
			return plan, diskError(id, err)
		}
		for _, f := range files {
			if slices.Contains(plan.links, f.Path) {
				continue
			}
			kept[filepath.Base(f.Target)] = true
			if strings.HasPrefix(f.Path, dir+string(filepath.Separator)) {
				others++
			}
		}
	}
	for _, link := range plan.links {
		target, err := os.Readlink(link)
		if blob := filepath.Base(target); err == nil && !kept[blob] {
			plan.blobs = append(plan.blobs, blob)
		}
	}
	if others == 0 {
		plan.last = dir
	}
	return plan, nil
}

// removeGGUF is [Remove] for a GGUF file of a snapshot.
func removeGGUF(file string) (freed int64, err error) {
	plan, err := removalOf(file)
	if err != nil {
		return 0, err
	}
	if plan.last != "" {
		return Remove(plan.last)
	}
	r := plan.repo
	unlock, busy, err := r.lockPartials()
	defer unlock()
	switch {
	case err != nil:
		return 0, diskError(r.id, err)
	case busy:
		return 0, errorf(Busy, r.id, "the model is being downloaded: stop that first")
	}
	for _, name := range plan.blobs {
		n, err := removeFile(r.blob(name))
		freed += n
		if err != nil {
			return freed, diskError(r.id, err)
		}
	}
	for _, link := range plan.links {
		if err := ignoreMissing(os.Remove(link)); err != nil {
			return freed, diskError(r.id, err)
		}
	}
	return freed, nil
}

// freedGGUF is [Freed] for a GGUF file of a snapshot.
func freedGGUF(file string) (n int64, err error) {
	plan, err := removalOf(file)
	if err != nil {
		return 0, err
	}
	if plan.last != "" {
		return Freed(plan.last)
	}
	for _, name := range plan.blobs {
		n += payload(plan.repo.blob(name))
	}
	return n, nil
}
