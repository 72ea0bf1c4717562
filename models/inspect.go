package models

import (
	"context"
	"io/fs"
	"path/filepath"

	"tandem/engine/mlx"
	"tandem/models/nn"
	"tandem/models/ollama"
	"tandem/models/pocket"
	"tandem/models/starter"
)

// The ids of the models that come with the program.
const (
	PocketID  = "pocket"     // the embedded one
	StarterID = starter.Name // a file beside the program
)

// A Summary is what the headers tell of a model folder.
type Summary struct {
	Architecture  string // model_type of config.json
	Quantization  string // such as "4-bit", empty if none
	Dtype         string // of the floating weights, as safetensors spells it
	Parameters    int64  // that the model uses; a quantized one counts as one
	Bytes         int64  // of all tensors as stored; of a GGUF model, of its files
	ContextLength int
	Kind          Kind
	Footprint     Footprint

	// LeftOut says what parts of the checkpoint are for that the model leaves out, such as "images
	// and sound". It is empty if there are none.
	LeftOut string

	// FileType is what a GGUF file says of its quantization, such as Q4_K_M. Losses is what MLX's
	// form of it loses. Both are empty for other files.
	FileType string
	Losses   []Loss

	// ChatError is why a chat template cannot be read, nil if each can and if there is none.
	ChatError error
}

// NoChat says why the model cannot chat though it has a chat template. It is empty where it can, and
// where there is none.
func (s Summary) NoChat() string {
	if s.ChatError == nil {
		return ""
	}
	return "it " + s.ChatError.Error()
}

// Inspect asks all that a load asks, without loading the weights: a folder that it accepts can be
// loaded, if there is memory. Errors are of type *Error.
func Inspect(dir string) (Summary, error) { return inspectPath(dir, inOllama(dir)) }

// InspectOllama is Inspect for a model in Ollama's store. It reads no manifest again, so that a search
// reads each of them once.
func InspectOllama(m ollama.Model) (Summary, error) {
	return inspectPath(m.Blob, func() (ollama.Model, bool) { return m, true })
}

func inspectPath(path string, of lookup) (Summary, error) {
	name := filepath.Clean(path)
	fsys, err := openBare(path, of)
	if err != nil {
		return Summary{}, named(err, Options{Name: name})
	}
	return InspectFS(fsys, name)
}

// InspectFS is Inspect for the files at the root of a file system. Of the weights it reads the
// headers alone.
func InspectFS(fsys fs.FS, name string) (Summary, error) {
	s, err := inspect(fsys, name)
	if err != nil {
		return Summary{}, named(err, Options{Name: name})
	}
	return s, nil
}

// InspectPocket describes the embedded model.
func InspectPocket() (Summary, error) { return inspect(pocket.Files(), PocketID) }

// LoadPocket loads the embedded model.
func LoadPocket(ctx context.Context, t *mlx.Thread, opts Options) (*Bundle, error) {
	opts.Name = PocketID
	return LoadFS(ctx, t, pocket.Files(), opts)
}

func inspect(fsys fs.FS, name string) (Summary, error) {
	b := &Bundle{}
	text, cfg, tokenizerConfig, err := b.readSmallFiles(fsys, name)
	if err != nil {
		return Summary{}, err
	}
	arch, err := architectures[cfg.ModelType](text)
	if err != nil {
		return Summary{}, err
	}
	c, err := openCheckpoint(context.Background(), fsys, nil)
	if err != nil {
		return Summary{}, err
	}
	defer c.close()
	w := nn.NewChecks(c, cfg.Quantization)
	if err := b.assemble(w, text, cfg); err != nil {
		return Summary{}, misfit(fsys, err)
	}
	s := Summary{
		Architecture: cfg.ModelType, Bytes: c.stored,
		Quantization: w.Packing(), Parameters: w.Parameters(),
		ContextLength: arch.ContextLength(), Kind: b.Purpose.Kind,
		LeftOut: leftOut(fsys, w), FileType: fileType(fsys), Losses: losses(fsys),
	}
	s.Footprint = Footprint{
		ContextLength: s.ContextLength, layers: keptLayers(arch), unpacking: w.Unpacking(),
	}
	names := func(name string) (string, bool) {
		to, keep := cfg.Quantization.Tensor(name)
		if !keep {
			return "", false
		}
		return arch.Sanitize(to)
	}
	s.Footprint.addWeights(c, names)
	s.Footprint.addMade(c, w.Made())
	s.Footprint.addHead(c, names)
	s.Dtype = mostFloats(c, names)
	chat := readChat(fsys, tokenizerConfig, nil)
	s.ChatError = chat.Err()
	if err := chat.close(); err != nil {
		return Summary{}, err
	}
	return s, nil
}

// mostFloats returns the type that most bytes of floating weights have that the model uses.
func mostFloats(c *checkpoint, names sanitize) (dtype string) {
	bytes := map[string]int64{}
	for _, name := range c.Names() {
		if _, keep := names(name); !keep {
			continue
		}
		info, _ := c.Info(name)
		bytes[info.Dtype] += info.Bytes
		if isFloat(info.Dtype) && bytes[info.Dtype] > bytes[dtype] {
			dtype = info.Dtype
		}
	}
	return dtype
}
