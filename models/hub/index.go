package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// singleName is the file of weights that have only one, indexName the file that says which tensor
// is in which shard.
const (
	singleName = "model.safetensors"
	indexName  = singleName + ".index.json"
)

// maxIndexBytes bounds an index: the largest known have some 100,000 tensors in 10 MiB. Loading a
// model has the same bound.
const maxIndexBytes = 32 << 20

// maxShards bounds the weights of one model. Loading a model has the same bound.
const maxShards = 4096

// shards returns the names of the files in an index, sorted.
func shards(index []byte) ([]string, error) {
	if len(index) > maxIndexBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB", indexName, maxIndexBytes>>20)
	}
	var parsed struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(PythonJSON(index, "null"), &parsed); err != nil {
		return nil, fmt.Errorf("%s is not valid JSON: %w", indexName, err)
	}
	var names []string
	for _, name := range parsed.WeightMap {
		names = append(names, path.Clean(name)) // ./NAME is NAME
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil, errors.New(indexName + " names no files")
	}
	if len(names) > maxShards {
		return nil, fmt.Errorf("%s names %d files, more than the %d that a model may have",
			indexName, len(names), maxShards)
	}
	for _, name := range names {
		if !safeFile(name) || strings.Contains(name, "/") ||
			!strings.HasSuffix(name, ".safetensors") {
			return nil, fmt.Errorf("%s names %q, which is no safetensors file beside it",
				indexName, name)
		}
	}
	return names, nil
}

// A shardSet is a set of shards named like "model-00001-of-00003.safetensors".
type shardSet struct {
	stem string // model
	n    int    // 3
}

// shardSetOf returns the set that a file belongs to, by its name.
func shardSetOf(name string) (shardSet, bool) {
	stem, ok := strings.CutSuffix(name, ".safetensors")
	if !ok || len(stem) < len("-00001-of-00003") {
		return shardSet{}, false
	}
	var i int
	var set shardSet
	cut := len(stem) - len("-00001-of-00003")
	set.stem = stem[:cut]
	_, err := fmt.Sscanf(stem[cut:], "-%05d-of-%05d", &i, &set.n)
	if err != nil || i < 1 || i > set.n || set.name(i) != name {
		return shardSet{}, false
	}
	return set, true
}

// name returns the name of shard i, counted from 1.
func (s shardSet) name(i int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.safetensors", s.stem, i, s.n)
}
