package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// indexName is the file that says which tensor is in which shard.
const indexName = "model.safetensors.index.json"

// maxIndexBytes bounds an index: the largest known have some 100,000 tensors in 10 MiB.
const maxIndexBytes = 64 << 20

// shards returns the names of the files in an index, sorted.
func shards(index []byte) ([]string, error) {
	if len(index) > maxIndexBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB", indexName, maxIndexBytes>>20)
	}
	var parsed struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(index, &parsed); err != nil {
		return nil, fmt.Errorf("%s is not valid JSON: %w", indexName, err)
	}
	var names []string
	for _, name := range parsed.WeightMap {
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil, errors.New(indexName + " names no files")
	}
	for _, name := range names {
		if !safeFile(name) || strings.Contains(name, "/") || !strings.HasSuffix(name, ".safetensors") {
			return nil, fmt.Errorf("%s names %q, which is no safetensors file beside it", indexName, name)
		}
	}
	return names, nil
}

// siblingsOfShard returns every name of a set of shards named like "model-00001-of-00003.safetensors", or nil.
func siblingsOfShard(name string) []string {
	stem, ok := strings.CutSuffix(name, ".safetensors")
	if !ok || len(stem) < len("-00001-of-00003") {
		return nil
	}
	var i, n int
	cut := len(stem) - len("-00001-of-00003")
	tail := stem[cut:]
	if _, err := fmt.Sscanf(tail, "-%05d-of-%05d", &i, &n); err != nil || fmt.Sprintf("-%05d-of-%05d", i, n) != tail || i < 1 || i > n {
		return nil
	}
	names := make([]string, n)
	for k := range names {
		names[k] = fmt.Sprintf("%s-%05d-of-%05d.safetensors", stem[:cut], k+1, n)
	}
	return names
}
