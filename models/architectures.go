package models

import (
	"maps"
	"slices"
	"strings"

	"tandem/models/gemma3"
	"tandem/models/gemma4"
	"tandem/models/glimmer"
	"tandem/models/glm4moelite"
	"tandem/models/gptoss"
	"tandem/models/granite"
	"tandem/models/lfm2"
	"tandem/models/llama"
	"tandem/models/mistral3"
	"tandem/models/nemotronh"
	"tandem/models/nn"
	"tandem/models/phi3"
	"tandem/models/qwen2"
	"tandem/models/qwen3"
	"tandem/models/qwen35"
	"tandem/models/qwen3moe"
	"tandem/models/qwen3next"
	"tandem/models/smollm3"
)

// architectures holds everything that can be loaded, by the model_type of config.json. Each
// function refuses a config.json that its package can't compute.
var architectures = map[string]func(config []byte) (nn.Architecture, error){
	"gemma3":           gemma3.Parse, // text half of the multimodal form
	"gemma3_text":      gemma3.Parse,
	"gemma4":           gemma4.Parse, // text half of the multimodal form
	"gemma4_text":      gemma4.Parse,
	"gemma4_unified":   gemma4.Parse, // text half of the 12B model, which sees and hears
	"glm4_moe_lite":    glm4moelite.Parse,
	"gpt_oss":          gptoss.Parse,
	"granite":          granite.Parse,
	"lfm2":             lfm2.Parse,
	"lfm2_moe":         lfm2.Parse,
	"llama":            llama.Parse,
	"ministral3":       mistral3.Parse,
	"mistral":          llama.Parse,
	"mistral3":         mistral3.Parse, // text half of the multimodal form
	"muse_glimmer":     glimmer.Parse,  // text half of the multimodal form
	"nemotron_h":       nemotronh.Parse,
	"phi3":             phi3.Parse,
	"qwen2":            qwen2.Parse,
	"qwen3":            qwen3.Parse,
	"qwen3_5":          qwen35.Parse, // text half of the multimodal form
	"qwen3_5_moe":      qwen35.Parse,
	"qwen3_5_moe_text": qwen35.Parse,
	"qwen3_5_text":     qwen35.Parse,
	"qwen3_moe":        qwen3moe.Parse,
	"qwen3_next":       qwen3next.Parse,
	"smollm3":          smollm3.Parse,
}

// Arithmetic differs between versions of this package that compute otherwise. What one kept of a
// text is of no use to another.
const Arithmetic = nn.Arithmetic

// Architectures lists the supported values of model_type.
func Architectures() []string { return slices.Sorted(maps.Keys(architectures)) }

func unknownArchitecture(modelType string) error {
	if modelType == "" {
		return errorf(CodeUnsupported, "config.json has no model_type, so it is no model's; "+
			"download it again, or name the folder of a model; supported are %s",
			strings.Join(Architectures(), ", "))
	}
	return errorf(CodeUnsupported,
		"model_type %q in config.json is not supported; supported are %s",
		modelType, strings.Join(Architectures(), ", "))
}

// cacheSpecs returns what each layer of an architecture keeps of a text.
func cacheSpecs(a nn.Architecture) []nn.CacheSpec {
	layers := make([]nn.CacheSpec, a.Layers())
	for i := range layers {
		layers[i] = a.CacheSpec(i)
	}
	return layers
}
