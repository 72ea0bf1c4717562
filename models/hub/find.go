package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tandem/storage/disk"
)

// Resolve returns the folder of a model in the cache without asking the hub. name is org/name or
// org/name@revision. org/name means the snapshot of main if it is complete, otherwise the newest
// complete one. Errors: [Invalid], [NotFound], [Incomplete] with what is missing, [Unsupported] for
// pickled weights, [Damaged], [Disk].
func Resolve(cacheDir, name string) (dir string, err error) {
	if _, _, err := Parse(name); err != nil {
		return "", err
	}
	dir, _, err = resolve(cacheDir, name, nil)
	return dir, err
}

// resolve is Resolve for a name that may ask for a quantization. existing is [Options].Existing. g
// is nil for a model that is not a GGUF file. A quantization that no snapshot has is [Incomplete]:
// the hub may have it.
func resolve(cacheDir, name string, existing []string) (dir string, g *GGUF, err error) {
	plain, quantization := CutQuantization(name)
	w := fileChoice{quantization, existing}
	id, revision, err := Parse(plain)
	if err != nil {
		return "", nil, err
	}
	r := repo{cache: cacheDir, id: id}
	commit, missing, err := r.pick(revision, w)
	if err != nil {
		return "", nil, err
	}
	if commit != "" {
		dir = r.snapshot(commit)
	}
	switch {
	case len(missing) > 0:
		err := incomplete(name, missing)
		if slices.Equal(missing, []string{singleName}) && hasPickled(dir) {
			err = errorf(Unsupported, name, "its weights are pickled (.bin), which Tandem does not read; "+
				"take a model with MLX, safetensors or GGUF weights")
		}
		err.Dir = dir
		return "", nil, err
	case commit != "":
		if g, err = ggufOnDisk(name, dir, w); err != nil {
			return "", nil, err
		}
		return dir, g, nil
	}
	if blobs, _ := disk.ReadDir(filepath.Join(r.dir(), "blobs"), 0); len(blobs) > 0 &&
		revision == "main" {
		return "", nil, incomplete(name, nil)
	}
	return "", nil, errorf(NotFound, name,
		"the model is not on this machine: download it first")
}

func hasPickled(dir string) bool {
	entries, _ := disk.ReadDir(dir, maxFiles)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return IsPickled(e.Name()) })
}

// IsPickled reports whether a file has weights as PyTorch pickles them, by its name.
func IsPickled(name string) bool {
	return strings.HasPrefix(name, "pytorch_model") && filepath.Ext(name) == ".bin"
}

// List returns the ids of the models that have a folder in the cache, sorted, complete or not.
// Without a cache the list is empty. Error: [Disk].
func List(cacheDir string) ([]string, error) {
	entries, err := disk.ReadDir(cacheDir, 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diskError(cacheDir, err)
	}
	var ids []string
	for _, e := range entries {
		folder, ok := strings.CutPrefix(e.Name(), "models--")
		id := strings.Replace(folder, "--", "/", 1)
		if _, _, err := Parse(id); ok && err == nil && !strings.Contains(id, "@") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// lacking says which files are missing, the first three by name.
func lacking(missing []string) string {
	const shown = 3
	s := strings.Join(missing[:min(shown, len(missing))], ", ")
	switch {
	case len(missing) > shown:
		return fmt.Sprintf("%s and %d more files are missing", s, len(missing)-shown)
	case len(missing) > 1:
		return s + " are missing"
	}
	return s + " is missing"
}

// pick chooses the snapshot that a revision means: its own, or for main the newest complete one if
// its own is not complete. If w names a quantization, only its files must be complete. If no
// snapshot is complete, it returns the likeliest one and what it lacks. The commit is "" without
// snapshots.
func (r repo) pick(revision string, w fileChoice) (commit string, missing []string, err error) {
	if commit, err = r.commit(revision); err != nil {
		return "", nil, err
	}
	if commit != "" {
		missing, err = missingFiles(r.snapshot(commit), w)
		if errors.Is(err, fs.ErrNotExist) {
			commit, missing, err = "", nil, nil
		}
		if e, ok := errors.AsType[*Error](err); ok {
			e.Name = r.id
			return "", nil, e
		}
		if err != nil {
			return "", nil, diskError(r.id, err)
		}
		if commit != "" && len(missing) == 0 {
			return commit, nil, nil
		}
	}
	if revision != "main" {
		return commit, missing, nil
	}
	type candidate struct {
		commit  string
		missing []string
		info    fs.FileInfo
	}
	var all []candidate
	entries, err := disk.ReadDir(filepath.Join(r.dir(), "snapshots"), 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, diskError(r.id, err)
	}
	for _, e := range entries {
		if !isCommit(e.Name()) || e.Name() == commit {
			continue
		}
		m, err := missingFiles(r.snapshot(e.Name()), w)
		st, err2 := e.Info()
		if err != nil || err2 != nil {
			continue
		}
		all = append(all, candidate{e.Name(), m, st})
	}
	if commit == "" && len(all) == 0 {
		return "", nil, nil
	}
	// Complete ones first, then the newest.
	slices.SortStableFunc(all, func(a, b candidate) int {
		if (len(a.missing) == 0) != (len(b.missing) == 0) {
			if len(a.missing) == 0 {
				return -1
			}
			return 1
		}
		return b.info.ModTime().Compare(a.info.ModTime())
	})
	if len(all) > 0 && (len(all[0].missing) == 0 || commit == "") {
		return all[0].commit, all[0].missing, nil
	}
	return commit, missing, nil
}

// missingFiles returns the files that a model's folder lacks, as far as the folder shows. An empty
// list means complete. It looks for config.json, weights, the shards that the index or the name of
// another shard mentions, and links that lead nowhere. Of GGUF files it looks for the set of the
// quantization that w names, or for the usual one. Errors are the file system's own, and [Damaged]
// if the index is not valid or names files elsewhere.
func missingFiles(dir string, w fileChoice) ([]string, error) {
	switch g, err := ggufOnDisk("", dir, w); {
	case g != nil:
		return g.missing, nil
	case w.quantization != "" && err != nil:
		if _, ok := errors.AsType[*Error](err); ok {
			return []string{someGGUF + w.quantization}, nil
		}
	}
	entries, err := disk.ReadDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var missing, weights []string
	noted := make(map[string]bool)
	lacks := func(name string) {
		if !noted[name] {
			noted[name] = true
			missing = append(missing, name)
		}
	}
	there := make(map[string]bool)
	for _, e := range entries {
		name := e.Name()
		if !wanted(name) {
			continue
		}
		if st, err := disk.Folder(dir).Stat(name); err != nil {
			lacks(name)
		} else if st.Mode().IsRegular() {
			there[name] = true
			if strings.HasSuffix(name, ".safetensors") {
				weights = append(weights, name)
			}
		}
	}
	if !there["config.json"] {
		lacks("config.json")
	}
	if there[indexName] {
		index, err := disk.ReadFile(filepath.Join(dir, indexName), MaxIndexBytes)
		if err != nil {
			return nil, err
		}
		named, err := shards(index)
		if err != nil {
			return nil, errorf(Damaged, "",
				"%w: delete the model and fetch it again from a source you trust", err)
		}
		for _, name := range named {
			if !there[name] && !there[singleName] { // a single file needs no index
				lacks(name)
			}
		}
		return missing, nil
	}
	isWeights := func(name string) bool { return strings.HasSuffix(name, ".safetensors") }
	if len(weights) == 0 && !slices.ContainsFunc(missing, isWeights) {
		lacks(singleName)
	}
	sets := make(map[Shard]bool)
	for _, name := range weights {
		set, ok := ParseShard(name)
		if !ok || sets[set] {
			continue
		}
		sets[set] = true
		for _, other := range set.Missing(func(name string) bool { return there[name] }) {
			lacks(other)
		}
		if len(weights)+len(missing) > MaxShards {
			return nil, errorf(Damaged, "",
				"%s is one of more than the %d files that a model may have: "+
					"delete the model and fetch it again from a source you trust", name, MaxShards)
		}
	}
	return missing, nil
}
