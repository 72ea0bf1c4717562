package models

import (
	"errors"
	"io/fs"
	"slices"

	"tandem/engine/mlx"
	"tandem/models/dflash"
	"tandem/models/gemma4"
	"tandem/models/gguf"
	"tandem/models/nn"
	"tandem/models/qwen35"
)

// A network is a kind of drafter that is no model: it borrows what it lacks from its target.
type network struct {
	// pair checks a config.json against the target, without weights.
	pair func(config []byte, target nn.Model) error

	// kept returns what each layer keeps of a text.
	kept func(config []byte) ([]nn.CacheSpec, error)

	// measure asks w, made by nn.NewDryRunWeights, for all tensors. It needs no target.
	measure func(w *nn.Weights, config []byte) error

	// build reads the weights into a drafter and takes them over.
	build func(d *Drafter, w *nn.Weights, config []byte, target nn.Model,
		settings DrafterSettings) error
}

// blocks are DFlash drafters, which guess a block in one forward.
var blocks = &network{
	pair: func(config []byte, target nn.Model) error {
		return dflash.Pair(config, target.Config())
	},
	kept:    dflash.Layers,
	measure: dflash.Measure,
	build: func(d *Drafter, w *nn.Weights, config []byte, target nn.Model,
		settings DrafterSettings) error {
		m, err := dflash.New(w, config, target, settings)
		if err == nil {
			d.Block = m
			d.Info.Architecture, d.Info.Dtype = m.Architecture(), m.Dtype()
		}
		return err
	},
}

// heads are heads for multi-token prediction of Qwen3.5 and its kin.
var heads = &network{
	pair: func(config []byte, target nn.Model) error {
		return qwen35.PairMTP(config, target.Config())
	},
	kept:    qwen35.MTPCacheSpecs,
	measure: qwen35.MeasureMTP,
	build: func(d *Drafter, w *nn.Weights, config []byte, target nn.Model,
		_ DrafterSettings) error {
		m, err := qwen35.NewMTP(w, config, target)
		if err == nil {
			d.Head = m
			d.Info.Architecture, d.Info.Dtype = qwen35.MTPModelType, m.Dtype()
		}
		return err
	},
}

// assistants are the drafters of Gemma 4.
var assistants = &network{
	pair:    gemma4.PairAssistant,
	kept:    gemma4.AssistantCacheSpecs,
	measure: gemma4.MeasureAssistant,
	build: func(d *Drafter, w *nn.Weights, config []byte, target nn.Model,
		_ DrafterSettings) error {
		m, err := gemma4.NewAssistant(w, config, target)
		if err == nil {
			d.Assistant = m
			d.Info.Architecture, d.Info.Dtype = gemma4.AssistantModelTypes[0], m.Dtype()
		}
		return err
	},
}

// network returns what kind of drafter a config.json describes, nil for a model.
func (c *config) network() *network {
	switch {
	case c.ModelType == qwen35.MTPModelType:
		return heads
	case slices.Contains(gemma4.AssistantModelTypes, c.ModelType):
		return assistants
	case c.isDrafter():
		return blocks
	}
	return nil
}

// headTypes are the model types whose checkpoints may bring a head.
var headTypes = []string{"qwen3_5", "qwen3_5_moe", "qwen3_5_text", "qwen3_5_moe_text"}

// headFiles are where a model's folder has a head apart from its weights, by their turn.
var headFiles = []string{"mtp.safetensors", "mtp/model.safetensors"}

// readHead reads the headers of the head that a model's folder brings: of a file of its own, or in the
// headers of the weights. It returns nil if there is none.
func readHead(fsys fs.FS, cfg *config, weights func() (*headers, error)) (*headers, error) {
	if folder, ok := fsys.(*gguf.Folder); ok && folder.NoHead() != "" {
		return nil, errorf(CodeUnsupported, "%s", folder.NoHead())
	}
	if !slices.Contains(headTypes, cfg.ModelType) {
		return nil, nil
	}
	for _, name := range headFiles {
		if _, err := fs.Stat(fsys, name); err == nil {
			h := &headers{tensors: map[string]*mlx.Tensors{}}
			return h, h.read(fsys, name)
		}
	}
	h, err := weights()
	if err != nil {
		return nil, err
	}
	return h.only(qwen35.IsMTP), nil
}

// readNetwork returns the kind and the headers of a drafter for a target that is no model: of a folder of
// one, or of a model's folder that brings a head for the target. Both are nil for a model of its own.
func (f *Files) readNetwork(cfg *config, target nn.Model) (*network, *headers, error) {
	if n := cfg.network(); n != nil {
		if err := n.pair(cfg.text, target); err != nil {
			return nil, nil, err
		}
		h, err := f.readWeights()
		return n, h, err
	}
	if !slices.Contains(headTypes, cfg.ModelType) {
		return nil, nil, nil
	}
	err := heads.pair(cfg.text, target)
	if _, other := errors.AsType[*qwen35.PairError](err); other {
		return nil, nil, nil // a smaller model, whatever its checkpoint holds
	}
	h, e := f.readHead(cfg)
	if h == nil || e != nil {
		return nil, nil, e
	}
	if err != nil { // the target's own head
		return nil, nil, err
	}
	return heads, h, nil
}
