package hub

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

const (
	// maxFiles bounds a repository.
	maxFiles = 20_000

	// maxFileBytes bounds a file: more than any file at the hub has. The sum over all files of a
	// repository fits 63 bits.
	maxFileBytes = 1 << 42
)

// An info is what the hub says about one revision.
type info struct {
	commit string
	files  []string         // every file of the repository, sorted
	sizes  map[string]int64 // of the files whose size the hub gave
}

// parseInfo parses the answer of /api/models/ID/revision/REV. One hostile file name refuses all of
// it.
func parseInfo(name string, data []byte) (info, error) {
	var reply struct {
		SHA      string `json:"sha"`
		Siblings []struct {
			Name string `json:"rfilename"`
			Size *int64 `json:"size"`
		} `json:"siblings"`
	}
	if len(data) > maxInfoBytes {
		return info{}, errorf(BadReply, name,
			"the hub's list of files is larger than %d MiB: check the hub endpoint",
			maxInfoBytes>>20)
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return info{}, errorf(BadReply, name,
			"the hub's answer is not a list of a repository's files: check the hub endpoint")
	}
	if !isCommit(reply.SHA) {
		return info{}, errorf(BadReply, name,
			"the hub's answer has no commit: check the hub endpoint")
	}
	if len(reply.Siblings) > maxFiles {
		return info{}, errorf(Unsupported, name,
			"the repository has more than %d files, which no model has", maxFiles)
	}
	in := info{commit: reply.SHA, sizes: map[string]int64{}}
	for _, s := range reply.Siblings {
		if !safeFile(s.Name) {
			return info{}, errorf(Unsafe, name,
				"the repository names a file outside its own folder, %q: "+
					"nothing was downloaded, do not trust it", s.Name)
		}
		in.files = append(in.files, s.Name)
		if s.Size == nil {
			continue
		}
		if err := checkSize(name, s.Name, *s.Size); err != nil {
			return info{}, err
		}
		in.sizes[s.Name] = *s.Size
	}
	slices.Sort(in.files)
	in.files = slices.Compact(in.files)
	return in, nil
}

// checkSize refuses a size that no file has.
func checkSize(name, file string, size int64) error {
	if size < 0 || size > maxFileBytes {
		return errorf(BadReply, name,
			"the hub says that %s has %d bytes, which no file has: check the hub endpoint", file,
			size)
	}
	return nil
}

// checkTree refuses a file whose name is also the name of a folder. Names that differ in case are
// the same on a Mac.
func checkTree(name string, files []string) error {
	there := map[string]string{}
	for _, f := range files {
		there[strings.ToLower(f)] = f
	}
	for _, f := range files {
		for dir := path.Dir(f); dir != "."; dir = path.Dir(dir) {
			if file := there[strings.ToLower(dir)]; file != "" {
				return errorf(Unsupported, name, "the repository has a file %s and a folder of the "+
					"same name, with %s, which no disk can hold: choose another revision", file, f)
			}
		}
	}
	return nil
}

// choose returns the files to fetch. The index, or nil, says which weights are the model's.
func (in info) choose(name string, index []byte) ([]string, error) {
	var chosen, weights []string
	for _, f := range in.files {
		switch {
		case !wanted(f):
		case path.Ext(f) == ".safetensors":
			weights = append(weights, f)
		default:
			chosen = append(chosen, f)
		}
	}
	if !slices.Contains(chosen, "config.json") || len(weights) == 0 {
		return nil, errorf(Unsupported, name,
			"the repository %s: choose one with MLX, safetensors or GGUF weights", in.lacks())
	}
	switch {
	case index != nil:
		named, err := shards(index)
		if err != nil {
			return nil, errorf(Unsupported, name, "%w: choose another revision", err)
		}
		there := make(map[string]bool)
		for _, f := range weights {
			there[f] = true
		}
		for _, f := range named {
			switch {
			case there[f]:
			case there[singleName]: // then the index is not needed
				return append(chosen, singleName), nil
			default:
				return nil, errorf(Unsupported, name,
					"%s names %s, which the repository does not have: choose another revision",
					indexName, f)
			}
		}
		weights = named
	case slices.ContainsFunc(weights, func(f string) bool { return strings.HasPrefix(f, "model") }):
		// Some repositories hold the same weights again in their maker's own format.
		weights = slices.DeleteFunc(weights,
			func(f string) bool { return strings.HasPrefix(f, "consolidated") })
	}
	chosen = append(chosen, weights...)
	return chosen, checkTree(name, chosen)
}

// lacks says why a repository holds no model that can be loaded.
func (in info) lacks() string {
	for _, f := range in.files {
		if isGGUF(f) {
			return "holds no GGUF file of a model"
		}
		switch path.Ext(f) {
		case ".bin", ".pt", ".pth":
			isWeights := func(f string) bool { return path.Ext(f) == ".safetensors" }
			if !slices.ContainsFunc(in.files, isWeights) {
				return "holds pickled weights only, which can run code when they are read"
			}
		}
	}
	return "has no config.json with safetensors weights beside it"
}
