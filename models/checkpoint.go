package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"tandem/engine/mlx"
	"tandem/models/gguf"
)

const (
	singleFile = "model.safetensors"
	indexFile  = "model.safetensors.index.json"
)

// Bounds of one checkpoint. Qwen3-Next in 8 bits is the largest published one of the families here:
// each of its experts is a module of its own, which makes 149,000 tensors.
const (
	maxShards  = 4096 // files
	maxTensors = 1 << 18
)

// lendEvery is how long weights are read before others get the thread. Answers go on in between,
// and a load still makes progress.
const lendEvery = 30 * time.Millisecond

// checkpoint holds the tensors of all shards. It implements nn.Source.
type checkpoint struct {
	ctx      context.Context
	files    []fs.File
	tensors  map[string]*mlx.Tensors // by tensor name
	exact    *mlx.Tensors            // see LoadExact; nil for none
	bytes    int64                   // of all tensors
	stored   int64                   // bytes of the files that they are made of
	loaded   int64
	lent     time.Time // when others last had the thread
	progress func(done, total int64)

	// half: the floating weights are not in the type to compute in. They become bfloat16 where the
	// model does not compute in float32. Scales become float32, and vectors that only choose stay as
	// they are.
	half bool
}

// openCheckpoint opens model.safetensors and checks its header. Without that file it takes the shards
// of the index, and without an index the shards in the folder. The caller closes it.
func openCheckpoint(ctx context.Context, fsys fs.FS,
	progress func(done, total int64)) (_ *checkpoint, err error) {
	c := &checkpoint{ctx: ctx, tensors: map[string]*mlx.Tensors{}, progress: progress}
	folder, isGGUF := fsys.(*gguf.Folder)
	c.half = isGGUF
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if isGGUF {
		c.stored = folder.Bytes()
		if err := c.openExact(folder); err != nil {
			return nil, err
		}
	}
	if _, err = fs.Stat(fsys, singleFile); !errors.Is(err, fs.ErrNotExist) {
		return c, c.open(fsys, singleFile) // this tells an error too
	}
	index, err := readIndex(fsys)
	if err != nil {
		return nil, err
	}
	shards := slices.Compact(slices.Sorted(maps.Values(index)))
	if index == nil {
		if shards, err = listShards(fsys); err != nil {
			return nil, err
		}
	}
	for _, name := range shards {
		if err := stat(fsys, name); err != nil {
			return nil, err
		}
	}
	for _, name := range shards {
		if err := c.open(fsys, name); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(index)) {
		if c.tensors[name] == nil {
			return nil, errorf(CodeInvalid,
				"%s lacks tensor %s, which %s says is there; download the model again",
				index[name], name, indexFile)
		}
	}
	return c, nil
}

// openExact opens the weights of a GGUF file that are approximated where they are packed.
func (c *checkpoint) openExact(folder *gguf.Folder) error {
	f, err := folder.OpenExact()
	if f == nil && err == nil {
		return nil
	}
	if err != nil {
		return errorf(CodeIncomplete, "can't open the weights: %w", err)
	}
	c.files = append(c.files, f)
	info, err := f.Stat()
	if err != nil {
		return errorf(CodeIncomplete, "can't open the weights: %w", err)
	}
	if c.exact, err = mlx.OpenTensors(f.(io.ReaderAt), info.Size()); err != nil {
		return errorf(CodeInvalid, "%w", err)
	}
	return nil
}

// stat refuses a file that is missing.
func stat(fsys fs.FS, name string) error {
	_, err := fs.Stat(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return missingFile(name)
	}
	if err != nil {
		return unread(name, err)
	}
	return nil
}

// open adds one safetensors file.
func (c *checkpoint) open(fsys fs.FS, name string) error {
	f, err := openFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return missingFile(name)
	}
	if err != nil {
		return err
	}
	c.files = append(c.files, f)
	info, err := f.Stat()
	if err != nil {
		return errorf(CodeIncomplete, "can't open the weights: %w", err)
	}
	r, ok := f.(io.ReaderAt)
	if !ok || !info.Mode().IsRegular() {
		return errorf(CodeInvalid, "%s is not a regular file", name)
	}
	tensors, err := mlx.OpenTensors(r, info.Size())
	if err != nil {
		code := CodeInvalid
		if _, short := errors.AsType[*mlx.TruncatedError](err); short {
			code = CodeIncomplete
		}
		return errorf(code, "%s: %w", name, err)
	}
	if len(c.tensors)+tensors.Len() > maxTensors {
		return errorf(CodeInvalid, "its weights are more than %d tensors, which no model needs",
			maxTensors)
	}
	for _, tensor := range tensors.Names() {
		if c.tensors[tensor] != nil {
			return errorf(CodeInvalid,
				"%s has tensor %s, which another shard has too; download the model again", name,
				tensor)
		}
		c.tensors[tensor] = tensors
		t, _ := tensors.Info(tensor)
		c.bytes += t.Bytes
	}
	if !c.half { // else the tensors are made of other files
		c.stored = c.bytes
	}
	return nil
}

func (c *checkpoint) close() {
	for _, f := range c.files {
		f.Close()
	}
}

// Names implements nn.Source.
func (c *checkpoint) Names() []string { return slices.Sorted(maps.Keys(c.tensors)) }

// Info implements nn.Source.
func (c *checkpoint) Info(name string) (mlx.TensorInfo, bool) {
	if t := c.tensors[name]; t != nil {
		return t.Info(name)
	}
	return mlx.TensorInfo{}, false
}

// Format returns the format that a tensor's file names, for nn.Weights.
func (c *checkpoint) Format(name string) string {
	if t := c.tensors[name]; t != nil {
		return t.Metadata()["format"]
	}
	return ""
}

// Load implements nn.Source. Every lendEvery it lends the thread to others before it reads. It
// fails once the context is done. After a failure it reads nothing and reports no progress.
func (c *checkpoint) Load(s *mlx.Scope, name string) *mlx.Array {
	return c.load(s, c.tensors[name], name, name)
}

// LoadExact reads a weight of a GGUF file that its packed form only comes near, for nn.Weights.
func (c *checkpoint) LoadExact(s *mlx.Scope, name string) (a *mlx.Array, ok bool) {
	if c.exact == nil {
		return nil, false
	}
	if _, ok := c.exact.Info(name); !ok {
		return nil, false
	}
	module := strings.TrimSuffix(name, ".weight")
	return c.load(s, c.exact, name, name, module+".scales", module+".biases"), true
}

// load reads a tensor of a file, which counts as those of the checkpoint in its place.
func (c *checkpoint) load(s *mlx.Scope, from *mlx.Tensors, name string,
	counts ...string) *mlx.Array {
	if time.Since(c.lent) >= lendEvery {
		s.Yield()
		c.lent = time.Now()
	}
	if err := c.ctx.Err(); err != nil {
		s.Fail(err)
	}
	a := from.Load(s, name)
	if s.Err() != nil {
		return a
	}
	for _, name := range counts {
		info, _ := c.Info(name)
		c.loaded += info.Bytes
	}
	if c.progress != nil {
		c.progress(c.loaded, c.bytes)
	}
	return a
}

// readIndex returns the shard of each tensor, nil if there is no index.
func readIndex(fsys fs.FS) (map[string]string, error) {
	text, err := readJSON(fsys, indexFile)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	index, err := parseIndex(text)
	if err != nil {
		return nil, errorf(CodeInvalid, "%s: %w", indexFile, err)
	}
	return index, nil
}

// parseIndex parses {"weight_map": {tensor: shard}} and refuses shards that do not lie beside the
// index. It goes by JSON tokens, to see a tensor that is named twice.
func parseIndex(text []byte) (map[string]string, error) {
	var file struct {
		WeightMap json.RawMessage `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(file.WeightMap))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it has no weight_map")
	}
	index := map[string]string{}
	shards := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		tensor := key.(string)
		value, err := dec.Token()
		if err != nil {
			return nil, err
		}
		shard, ok := value.(string)
		shard = path.Clean(shard) // ./NAME is NAME
		switch {
		case !ok:
			return nil, fmt.Errorf("tensor %q has no file name", tensor)
		case index[tensor] != "":
			return nil, fmt.Errorf("tensor %q is named twice", tensor)
		case path.Base(shard) != shard || strings.ContainsAny(shard, `/\:`),
			!strings.HasSuffix(shard, ".safetensors"):
			return nil, fmt.Errorf(
				"tensor %q is said to be in %q, which is no safetensors file in the model's folder",
				tensor, shard)
		}
		if index[tensor] = shard; len(index) > maxTensors {
			return nil, fmt.Errorf("more than %d tensors", maxTensors)
		}
		if shards[shard] = true; len(shards) > maxShards {
			return nil, fmt.Errorf("more than %d files", maxShards)
		}
	}
	if len(index) == 0 {
		return nil, errors.New("its weight_map is empty")
	}
	return index, nil
}
