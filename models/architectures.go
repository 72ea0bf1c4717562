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
)

// architectures holds, by the model_type of config.json, all that can be
// loaded.
var architectures = map[string]func(w *nn.Weights, config []byte) (lm.Model, error){
	"gemma3":      newGemma3, // text half of the multimodal form
	"gemma3_text": newGemma3,
	"llama":       newLlama,
	"mistral":     newLlama,
	"qwen3":       newQwen3,
}

func newGemma3(w *nn.Weights, config []byte) (lm.Model, error) { return gemma3.New(w, config) }
func newLlama(w *nn.Weights, config []byte) (lm.Model, error)  { return llama.New(w, config) }
func newQwen3(w *nn.Weights, config []byte) (lm.Model, error)  { return qwen3.New(w, config) }

// Architectures lists the supported values of model_type.
func Architectures() []string { return slices.Sorted(maps.Keys(architectures)) }

func unknownArchitecture(modelType string) error {
	return errorf(CodeUnsupported, "model_type %q in config.json is not supported; supported are %s",
		modelType, strings.Join(Architectures(), ", "))
}
