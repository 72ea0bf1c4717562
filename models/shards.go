package models

import (
	"io/fs"
	"slices"
	"strings"

	"tandem/models/hub"
)

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
		_, isShard := hub.ParseShard(name)
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
	case weights == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return hub.IsPickled(e.Name())
	}):
		return nil, errorf(CodeUnsupported, "its weights are pickled (.bin), which Tandem does not read; "+
			"take a model with MLX, safetensors or GGUF weights")
	case weights == nil:
		return nil, missingFile(singleFile)
	case len(weights) > hub.MaxShards:
		return nil, errorf(CodeInvalid, "it has more than %d files of weights", hub.MaxShards)
	}
	slices.Sort(weights)
	there := func(name string) bool {
		_, ok := slices.BinarySearch(weights, name)
		return ok
	}
	var last hub.Shard
	for _, name := range weights {
		set, ok := hub.ParseShard(name)
		if !ok || set == last {
			continue
		}
		last = set
		if set.Count > hub.MaxShards {
			return nil, errorf(CodeInvalid, "%s is one of more than %d files", name, hub.MaxShards)
		}
		if missing := set.Missing(there); missing != nil {
			return nil, missingFile(missing[0])
		}
	}
	return weights, nil
}
