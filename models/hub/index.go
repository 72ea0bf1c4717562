package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// singleName is the file of weights that have only one, indexName the file that says which tensor
// is in which shard.
const (
	singleName = "model.safetensors"
	indexName  = singleName + ".index.json"
)

// MaxIndexBytes bounds an index: the largest known have some 100,000 tensors in 10 MiB.
const MaxIndexBytes = 32 << 20

// MaxShards bounds the files of weights of one model.
const MaxShards = 4096

// shards returns the names of the files in an index, sorted.
func shards(index []byte) ([]string, error) {
	if len(index) > MaxIndexBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB", indexName, MaxIndexBytes>>20)
	}
	var parsed struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(PythonJSON(index, "null"), &parsed); err != nil {
		return nil, fmt.Errorf("%s has no weight_map of files in it", indexName)
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
	if len(names) > MaxShards {
		return nil, fmt.Errorf("%s names %d files, more than the %d that a model may have",
			indexName, len(names), MaxShards)
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

// A Shard is the name of a file of weights that says which it is of how many, such as
// model-00001-of-00003.safetensors. Its own number is left out, so all files of a set have one Shard.
type Shard struct {
	stem   string // model
	digits int    // 5
	of     string // 00003
	Count  int    // 3
}

// ParseShard returns the shard that a file is, by its name.
func ParseShard(name string) (s Shard, ok bool) {
	rest, isWeights := strings.CutSuffix(name, ".safetensors")
	at := strings.LastIndex(rest, "-of-")
	if !isWeights || at < 0 {
		return s, false
	}
	s.of, rest = rest[at+len("-of-"):], rest[:at]
	if at = strings.LastIndexByte(rest, '-'); at < 0 {
		return s, false
	}
	s.stem, s.digits = rest[:at], len(rest)-at-1
	i, errI := strconv.ParseUint(rest[at+1:], 10, 31)
	n, errN := strconv.ParseUint(s.of, 10, 31)
	s.Count = int(n)
	return s, errI == nil && errN == nil && i <= n
}

// name returns the name of shard i of the set.
func (s Shard) name(i int) string {
	return fmt.Sprintf("%s-%0*d-of-%s.safetensors", s.stem, s.digits, i, s.of)
}

// Missing returns the names of the set that are not there. Shards count from 0 or from 1. No more are
// looked for than a model may have, and one.
func (s Shard) Missing(there func(name string) bool) (missing []string) {
	first := 1
	if there(s.name(0)) {
		first = 0
	}
	for i := range min(s.Count, MaxShards+1) {
		if name := s.name(first + i); !there(name) {
			missing = append(missing, name)
		}
	}
	return missing
}
