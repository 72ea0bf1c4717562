package models

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"tandem/models/gemma4"
	"tandem/models/nn"
	"tandem/models/qwen35"
	"tandem/storage/disk"
)

// readFile returns the whole of a small file. The error wraps fs.ErrNotExist if there is none.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := openFile(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	most := maxBytesOf(name)
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, unread(name, err)
	}
	if int64(len(text)) > most {
		return nil, errorf(CodeInvalid, "%s is larger than %d MiB", name, most>>20)
	}
	return text, nil
}

// openFile opens a file of a model. An error that wraps fs.ErrNotExist or fs.ErrInvalid is the file
// system's own.
func openFile(fsys fs.FS, name string) (fs.File, error) {
	f, err := fsys.Open(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return f, err
	}
	if kind, ok := errors.AsType[*disk.KindError](err); ok {
		return nil, errorf(CodeInvalid, "%s is %s, not a file; download the model again", name,
			kind.What)
	}
	return nil, unread(name, err)
}

// unread returns the error of a file or a folder that cannot be read.
func unread(name string, err error) error {
	if _, silent := errors.AsType[*disk.SilentError](err); silent {
		return errorf(CodeNotFound,
			"its folder does not answer; look whether its disk is connected, and try again")
	}
	return errorf(CodeInvalid, "can't read %s: %w", name, err)
}

func missingFile(name string) error {
	return errorf(CodeIncomplete, "%s is missing; copy it into the folder, "+
		"or run `tandem pull` if the model comes from the hub", name)
}

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
	var c config
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

// readConfig reads config.json. It refuses drafters, and architectures that are not in the table.
func readConfig(fsys fs.FS) (text []byte, cfg *config, err error) {
	text, cfg, err = readAnyConfig(fsys)
	if err != nil {
		return nil, nil, err
	}
	if cfg.isDrafter() {
		return nil, nil, errorf(CodeUnsupported,
			"is a drafter (%s), which guesses for a model and is "+
				"none itself; load the model it was made for, and see `tandem models drafter`",
			cmp.Or(strings.Join(cfg.Architectures, ", "), cfg.ModelType))
	}
	if _, ok := architectures[cfg.ModelType]; !ok {
		return nil, nil, unknownArchitecture(cfg.ModelType)
	}
	return text, cfg, nil
}

// readAnyConfig reads the config.json of a model or a drafter.
func readAnyConfig(fsys fs.FS) (text []byte, cfg *config, err error) {
	text, err = readJSON(fsys, "config.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errorf(CodeIncomplete,
			"has no config.json, so it is not a model folder or its download did not finish; "+
				"name a GGUF file by its own path")
	}
	if err != nil {
		return nil, nil, err
	}
	if cfg, err = parseConfig(text); err != nil {
		return nil, nil, err
	}
	section, err := readJSON(fsys, QuantConfigFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	return text, cfg, cfg.quantize(section, QuantConfigFile)
}

// QuantConfigFile is where NVIDIA's modelopt says how weights are packed, if config.json is silent.
const QuantConfigFile = "hf_quant_config.json"
