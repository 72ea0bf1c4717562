package models

import (
	"maps"
	"slices"
	"strings"

	"tandem/engine/lm"
	"tandem/models/gemma3"
	"tandem/models/llama"
	"tandem/models/nn"
	"tandem/models/qwen3"
	"tandem/models/qwen35"
)

// An architecture is what a package of an architecture offers. All refuse a
// config.json that they can't run.
type architecture struct {
	build func(w *nn.Weights, config []byte) (built, error)

	// names returns what the model calls a tensor of the checkpoint, and
	// whether it uses it.
	names func(config []byte) (func(name string) (to string, keep bool), error)

	// layers returns what each layer keeps of a text.
	layers func(config []byte) ([]nn.Kept, error)
}

// built is what every architecture's model is.
type built interface {
	lm.Model
	lm.Embedder
}

// architectures holds, by the model_type of config.json, all that can be
// loaded.
var architectures = map[string]architecture{
	"gemma3":           {newGemma3, gemma3.Names, gemma3.Layers}, // text half of the multimodal form
	"gemma3_text":      {newGemma3, gemma3.Names, gemma3.Layers},
	"llama":            {newLlama, llama.Names, llama.Layers},
	"mistral":          {newLlama, llama.Names, llama.Layers},
	"qwen3":            {newQwen3, qwen3.Names, qwen3.Layers},
	"qwen3_5":          {newQwen35, qwen35.Names, qwen35.Layers}, // text half of the multimodal form
	"qwen3_5_moe":      {newQwen35, qwen35.Names, qwen35.Layers},
	"qwen3_5_moe_text": {newQwen35, qwen35.Names, qwen35.Layers},
	"qwen3_5_text":     {newQwen35, qwen35.Names, qwen35.Layers},
}

func newGemma3(w *nn.Weights, config []byte) (built, error) { return gemma3.New(w, config) }
func newLlama(w *nn.Weights, config []byte) (built, error)  { return llama.New(w, config) }
func newQwen3(w *nn.Weights, config []byte) (built, error)  { return qwen3.New(w, config) }
func newQwen35(w *nn.Weights, config []byte) (built, error) { return qwen35.New(w, config) }

// Architectures lists the supported values of model_type.
func Architectures() []string { return slices.Sorted(maps.Keys(architectures)) }

func unknownArchitecture(modelType string) error {
	return errorf(CodeUnsupported, "model_type %q in config.json is not supported; supported are %s",
		modelType, strings.Join(Architectures(), ", "))
}
