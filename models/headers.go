package models

import (
	"bytes"
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
	"tandem/models/hub"
)

const (
	singleFile = "model.safetensors"
	indexFile  = "model.safetensors.index.json"
)

// maxTensors bounds a model. Qwen3-Next in 8 bits is the largest published one of the families here:
// each of its experts is a module of its own, which makes 149,000 tensors.
const maxTensors = 1 << 18

// headers are what the headers of a checkpoint's files say. They implement nn.Source for checks, which
// ask for no weights. Nothing in them changes once they are read.
type headers struct {
	files   []headerFile
	tensors map[string]*mlx.Tensors // by tensor name; their files are closed
	bytes   int64                   // of all tensors
	stored  int64                   // bytes of the files that they are made of
	size    int64                   // bytes of the headers themselves

	// half: the floating weights are not in the type to compute in. They become bfloat16 where the
	// model does not compute in float32. Scales become float32, and vectors that only choose stay as
	// they are.
	half bool

	gguf *gguf.Folder // or nil
}

// A headerFile is a safetensors file as it was when its header was read.
type headerFile struct {
	name    string
	size    int64
	changed time.Time
	tensors *mlx.Tensors
}

// readHeaders reads and checks the header of model.safetensors. Without that file it takes the shards of
// the index, and without an index the shards in the folder.
func readHeaders(fsys fs.FS) (*headers, error) {
	h := &headers{tensors: map[string]*mlx.Tensors{}}
	folder, isGGUF := fsys.(*gguf.Folder)
	if h.half = isGGUF; isGGUF {
		h.stored, h.gguf = folder.Bytes(), folder
	}
	if _, err := fs.Stat(fsys, singleFile); !errors.Is(err, fs.ErrNotExist) {
		return h, h.read(fsys, singleFile) // this tells an error too
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
		if err := h.read(fsys, name); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(index)) {
		if h.tensors[name] == nil {
			return nil, errorf(CodeInvalid,
				"%s lacks tensor %s, which %s says is there; download the model again",
				index[name], name, indexFile)
		}
	}
	return h, nil
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

// openWeights opens a safetensors file.
func openWeights(fsys fs.FS, name string) (f fs.File, info fs.FileInfo, err error) {
	f, err = openFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, missingFile(name)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, errorf(CodeIncomplete, "can't open the weights: %w", err)
	}
	if _, ok := f.(io.ReaderAt); !ok || !info.Mode().IsRegular() {
		f.Close()
		return nil, nil, errorf(CodeInvalid, "%s is not a regular file", name)
	}
	return f, info, nil
}

// read adds the header of one safetensors file.
func (h *headers) read(fsys fs.FS, name string) error {
	f, info, err := openWeights(fsys, name)
	if err != nil {
		return err
	}
	defer f.Close()
	tensors, err := mlx.OpenTensors(f.(io.ReaderAt), info.Size())
	if err != nil {
		code := CodeInvalid
		if _, short := errors.AsType[*mlx.TruncatedError](err); short {
			code = CodeIncomplete
		}
		return errorf(code, "%s: %w", name, err)
	}
	tensors = tensors.From(nil)
	if len(h.tensors)+tensors.Len() > maxTensors {
		return errorf(CodeInvalid, "its weights are more than %d tensors, which no model needs",
			maxTensors)
	}
	for _, tensor := range tensors.Names() {
		if h.tensors[tensor] != nil {
			return errorf(CodeInvalid,
				"%s has tensor %s, which another shard has too; download the model again", name,
				tensor)
		}
		h.tensors[tensor] = tensors
		t, _ := tensors.Info(tensor)
		h.bytes += t.Bytes
	}
	if !h.half { // else the tensors are made of other files
		h.stored = h.bytes
	}
	h.size += tensors.HeaderBytes()
	h.files = append(h.files, headerFile{name, info.Size(), info.ModTime(), tensors})
	return nil
}

// only returns the headers of the tensors that keep takes, nil if it takes none.
func (h *headers) only(keep func(name string) bool) *headers {
	of := &headers{files: h.files, half: h.half, size: h.size, gguf: h.gguf,
		tensors: map[string]*mlx.Tensors{}}
	for name, tensors := range h.tensors {
		if keep(name) {
			info, _ := tensors.Info(name)
			of.tensors[name] = tensors
			of.bytes += info.Bytes
		}
	}
	if len(of.tensors) == 0 {
		return nil
	}
	of.stored = of.bytes
	return of
}

// Names implements nn.Source.
func (h *headers) Names() []string { return slices.Sorted(maps.Keys(h.tensors)) }

// Info implements nn.Source.
func (h *headers) Info(name string) (mlx.TensorInfo, bool) {
	if t := h.tensors[name]; t != nil {
		return t.Info(name)
	}
	return mlx.TensorInfo{}, false
}

// Exact returns how a weight is quantized that its tensor only comes near, for nn.Weights.
func (h *headers) Exact(name string) (mlx.Quantization, bool) {
	if h.gguf == nil {
		return mlx.Quantization{}, false
	}
	bits, group, ok := h.gguf.Exact(name)
	return mlx.Quantization{GroupSize: group, Bits: bits, Mode: "affine"}, ok
}

// Centred reports whether biases of a weight follow from its scales, for nn.Weights.
func (h *headers) Centred(name string) bool { return h.gguf != nil && h.gguf.Centred(name) }

// LoadExact completes Exact. No check loads a tensor.
func (h *headers) LoadExact(*mlx.Scope, string) (weight, scales, biases *mlx.Array) {
	panic("models: a header has no weights")
}

// Format returns the format that a tensor's file names, for nn.Weights.
func (h *headers) Format(name string) string {
	if t := h.tensors[name]; t != nil {
		return t.Metadata()["format"]
	}
	return ""
}

// Load implements nn.Source. No check loads a tensor.
func (h *headers) Load(*mlx.Scope, string) *mlx.Array {
	panic("models: a header has no weights")
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
		if shards[shard] = true; len(shards) > hub.MaxShards {
			return nil, fmt.Errorf("more than %d files", hub.MaxShards)
		}
	}
	if len(index) == 0 {
		return nil, errors.New("its weight_map is empty")
	}
	return index, nil
}
