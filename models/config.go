package models

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"tandem/models/gemma4"
	"tandem/models/nn"
	"tandem/models/qwen35"
)

// config is what the config.json of all architectures have in common.
type config struct {
	ModelType          string          `json:"model_type"`
	Architectures      []string        `json:"architectures"`
	MLXQuantization    json.RawMessage `json:"quantization"`
	QuantizationConfig json.RawMessage `json:"quantization_config"`
	DFlashConfig       json.RawMessage `json:"dflash_config"`
	EOS                tokenIDs        `json:"eos_token_id"`
	Text               textConfig      `json:"text_config"` // of models that also see

	Quantization *nn.Quantization `json:"-"` // nil = nothing is said

	text []byte // the whole file
}

type textConfig struct {
	EOS                tokenIDs        `json:"eos_token_id"`
	QuantizationConfig json.RawMessage `json:"quantization_config"`
}

// isDrafter reports whether it is a drafter that is no model by itself, supported or not. The
// model_type of a drafter is that of the model whose layers it has.
func (c *config) isDrafter() bool {
	return c.ModelType == qwen35.MTPModelType ||
		slices.Contains(gemma4.AssistantModelTypes, c.ModelType) ||
		len(c.DFlashConfig) > 0 && string(c.DFlashConfig) != "null" ||
		slices.ContainsFunc(c.Architectures, func(name string) bool {
			return strings.Contains(name, "DFlash") || strings.Contains(name, "DSpark") ||
				strings.HasSuffix(name, "DraftModel") || strings.HasSuffix(name, "AssistantModel")
		})
}

func parseConfig(text []byte) (*config, error) {
	c := config{text: text}
	if err := nn.ReadConfig(text, &c); err != nil {
		return nil, invalid(err)
	}
	sections := []json.RawMessage{c.MLXQuantization, c.QuantizationConfig,
		c.Text.QuantizationConfig}
	for _, section := range sections {
		if err := c.quantize(section, "config.json"); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// quantize takes a section about quantization, if none was taken before.
func (c *config) quantize(section json.RawMessage, file string) (err error) {
	if c.Quantization != nil {
		return nil
	}
	if c.Quantization, err = nn.ReadQuantization(section); err == nil {
		return nil
	}
	if _, ok := errors.AsType[*nn.UnsupportedError](err); ok {
		return err
	}
	return errorf(CodeInvalid, "%s: its section about quantization: %w", file, err)
}

// checkModel refuses drafters, and architectures that are not in the table.
func (c *config) checkModel() error {
	if c.isDrafter() {
		return errorf(CodeUnsupported,
			"is a drafter (%s), which only proposes tokens for another model; "+
				"load the model it was made for, and choose this as its drafter",
			cmp.Or(strings.Join(c.Architectures, ", "), c.ModelType))
	}
	if _, ok := architectures[c.ModelType]; !ok {
		return unknownArchitecture(c.ModelType)
	}
	return nil
}

// architecture returns the architecture of a model.
func (c *config) architecture() (nn.Architecture, error) {
	parse, ok := architectures[c.ModelType]
	if !ok {
		return nil, unknownArchitecture(c.ModelType)
	}
	return parse(c.text)
}

// readConfig reads the config.json of a model or a drafter.
func readConfig(fsys fs.FS) (*config, error) {
	text, err := readJSON(fsys, "config.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errorf(CodeIncomplete,
			"has no config.json, so it is not a model folder or its download did not finish; "+
				"name a GGUF file by its own path")
	}
	if err != nil {
		return nil, err
	}
	cfg, err := parseConfig(text)
	if err != nil {
		return nil, err
	}
	section, err := readJSON(fsys, QuantConfigFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return cfg, cfg.quantize(section, QuantConfigFile)
}

// QuantConfigFile is where NVIDIA's modelopt says how weights are quantized, if config.json is silent.
const QuantConfigFile = "hf_quant_config.json"
