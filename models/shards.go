package models

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A shardName is the name of a shard that says which it is of how many, such as
// model-00001-of-00003.safetensors.
type shardName struct {
	stem  string // model
	i, n  string // 00001 and 00003
	count int    // 3
}

func parseShardName(name string) (s shardName, ok bool) {
	rest, isWeights := strings.CutSuffix(name, ".safetensors")
	at := strings.LastIndex(rest, "-of-")
	if !isWeights || at < 0 {
		return s, false
	}
	s.n, rest = rest[at+len("-of-"):], rest[:at]
	at = strings.LastIndexByte(rest, '-')
	if at < 0 {
		return s, false
	}
	s.stem, s.i = rest[:at], rest[at+1:]
	i, errI := strconv.ParseUint(s.i, 10, 31)
	n, errN := strconv.ParseUint(s.n, 10, 31)
	s.count = int(n)
	return s, errI == nil && errN == nil && i <= n
}

// other returns the name of shard i of the same set.
func (s shardName) other(i int) string {
	return fmt.Sprintf("%s-%0*d-of-%s.safetensors", s.stem, len(s.i), i, s.n)
}

// listShards returns the weights in a folder without an index, in order of their names. As in mlx_lm,
// their names begin with model. Where none does, they begin with weight, or else they are numbered.
// Other files may hold the same weights in their maker's form. A set of shards must be whole.
func listShards(fsys fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, errorf(CodeInvalid, "can't list the folder: %w", err)
	}
	var model, weight, numbered []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".safetensors") {
			continue
		}
		_, isShard := parseShardName(name)
		switch {
		case strings.HasPrefix(name, "model"):
			model = append(model, name)
		case strings.HasPrefix(name, "weight"):
			weight = append(weight, name)
		case isShard:
			numbered = append(numbered, name)
		}
	}
	weights := numbered
	switch {
	case model != nil:
		weights = model
	case weight != nil:
		weights = weight
	}
	switch {
	case weights == nil && slices.ContainsFunc(entries, isPickled):
		return nil, errorf(CodeUnsupported, "its weights are pickled (.bin), which Tandem does not read; "+
			"take a model with MLX, safetensors or GGUF weights")
	case weights == nil:
		return nil, missingFile(singleFile)
	case len(weights) > maxShards:
		return nil, errorf(CodeInvalid, "it has more than %d files of weights", maxShards)
	}
	slices.Sort(weights)
	last := shardName{}
	for _, name := range weights {
		s, ok := parseShardName(name)
		s.i = ""
		if !ok || s == last {
			continue
		}
		last = s
		if err := checkWholeSet(name, weights); err != nil {
			return nil, err
		}
	}
	return weights, nil
}

// isPickled reports whether a file has weights as PyTorch pickles them. Package hub has the same rule.
func isPickled(e fs.DirEntry) bool {
	return strings.HasPrefix(e.Name(), "pytorch_model") && path.Ext(e.Name()) == ".bin"
}

// checkWholeSet refuses a set of shards, counted from 0 or from 1, that lacks one. there is sorted.
func checkWholeSet(name string, there []string) error {
	s, _ := parseShardName(name)
	if s.count > maxShards {
		return errorf(CodeInvalid, "%s is one of more than %d files", name, maxShards)
	}
	first := 1
	if _, zero := slices.BinarySearch(there, s.other(0)); zero {
		first = 0
	}
	for i := range s.count {
		if _, ok := slices.BinarySearch(there, s.other(first+i)); !ok {
			return missingFile(s.other(first + i))
		}
	}
	return nil
}
