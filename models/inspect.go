package models

import (
	"io/fs"

	"tandem/models/gguf"
	"tandem/models/nn"
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
	Parameters    int64  // weights that the model uses; a quantized weight counts as one
	Bytes         int64  // of all tensors as stored; of a GGUF model, of its files
	ContextLength int
	Kind          Kind
	Footprint     Footprint

	// LeftOut says what parts of the checkpoint are for that the model leaves out, such as "images
	// and sound". It is empty if there are none.
	LeftOut string

	// FileType is what a GGUF file says of its quantization, such as Q4_K_M. Losses are what its
	// weights lose in MLX's quantization. Both are empty for other files.
	FileType string
	Losses   []Loss

	// ChatError is why a chat template cannot be read, nil if each can and if there is none.
	ChatError error
}

// NoChat returns why the chat template cannot be used, as a clause: "it has a chat template that
// cannot be read: ...". It is empty if the template can be used, and if there is none.
func (s Summary) NoChat() string {
	if s.ChatError == nil {
		return ""
	}
	return "it " + s.ChatError.Error()
}

// Inspect is [Files.Summary] for a path.
func Inspect(path string) (Summary, error) {
	f, err := Open(path)
	if err != nil {
		return Summary{}, err
	}
	return f.Summary()
}

// Summary asks all that a load asks, without loading the weights: a model that it accepts can be loaded,
// if there is memory. Of the weights it reads the headers alone.
func (f *Files) Summary() (Summary, error) {
	s, err := memoize(f, &f.summary, f.summarize)
	return s, f.withName(err)
}

func (f *Files) summarize(fsys fs.FS) (Summary, error) {
	b := &Bundle{}
	cfg, err := b.readSmallFiles(f)
	if err != nil {
		return Summary{}, err
	}
	if _, isGGUF := fsys.(*gguf.Folder); !isGGUF { // whose defaults are never refused
		if _, err := f.readDefaults(); err != nil {
			return Summary{}, err
		}
	}
	arch, err := cfg.architecture()
	if err != nil {
		return Summary{}, err
	}
	h, err := f.readWeights()
	if err != nil {
		return Summary{}, err
	}
	w := nn.NewDryRunWeights(h, cfg.Quantization)
	if err := b.assemble(w, cfg); err != nil {
		return Summary{}, describeMisfit(fsys, err)
	}
	s := Summary{
		Architecture: cfg.ModelType, Bytes: h.stored,
		Quantization: w.QuantizationName(), Parameters: w.Parameters(),
		ContextLength: arch.ContextLength(), Kind: b.Purpose.Kind,
		LeftOut: leftOut(fsys, w), FileType: fileType(fsys), Losses: losses(fsys),
	}
	s.Footprint = Footprint{ContextLength: s.ContextLength, layers: cacheSpecs(arch)}
	names := func(name string) (string, bool) {
		to, keep := cfg.Quantization.Tensor(name)
		if !keep {
			return "", false
		}
		return arch.Sanitize(to)
	}
	s.Footprint.addWeights(h, names)
	s.Footprint.addComputed(h, w.Computed())
	s.Footprint.addHeadRow(h, names)
	s.Dtype = floatDtype(h, names)
	chat := f.chat(nil)
	s.ChatError = chat.Err()
	return s, chat.close()
}

// floatDtype returns the type that most bytes of floating weights have that the model uses.
func floatDtype(h *headers, names sanitize) (dtype string) {
	bytes := map[string]int64{}
	for _, name := range h.Names() {
		if _, keep := names(name); !keep {
			continue
		}
		info, _ := h.Info(name)
		bytes[info.Dtype] += info.Bytes
		if isFloat(info.Dtype) && bytes[info.Dtype] > bytes[dtype] {
			dtype = info.Dtype
		}
	}
	return dtype
}
