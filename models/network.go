package models

import (
	"context"
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
	kept func(config []byte) ([]nn.Kept, error)

	// measure asks w, made by nn.NewChecks, for all tensors. It needs no target.
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
	kept:    qwen35.KeptMTP,
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
	kept:    gemma4.KeptAssistant,
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

// openHead opens the weights of the head that a model's folder brings. It returns nil if there is
// none. The caller closes it.
func openHead(ctx context.Context, fsys fs.FS, cfg *config,
	progress func(done, total int64)) (*checkpoint, error) {
	if folder, ok := fsys.(*gguf.Folder); ok && folder.NoHead() != "" {
		return nil, errorf(CodeUnsupported, "%s", folder.NoHead())
	}
	if !slices.Contains(headTypes, cfg.ModelType) {
		return nil, nil
	}
	for _, name := range headFiles {
		if _, err := fs.Stat(fsys, name); err == nil {
			c := &checkpoint{ctx: ctx, tensors: map[string]*mlx.Tensors{}, progress: progress}
			if err := c.open(fsys, name); err != nil {
				c.close()
				return nil, err
			}
			return c, nil
		}
	}
	c, err := openCheckpoint(ctx, fsys, progress)
	if err != nil {
		return nil, err
	}
	for name := range c.tensors {
		if !qwen35.IsMTP(name) {
			delete(c.tensors, name)
		}
	}
	if len(c.tensors) == 0 {
		c.close()
		return nil, nil
	}
	c.stored, c.bytes = 0, 0
	for name, of := range c.tensors {
		info, _ := of.Info(name)
		c.bytes += info.Bytes
	}
	c.stored = c.bytes
	return c, nil
}

// openNetwork opens a drafter for a target that is no model: a folder of one, or a model's folder
// that brings a head for the target. The network is nil for a model of its own. The caller closes
// the checkpoint, which is nil without a network.
func openNetwork(ctx context.Context, fsys fs.FS, text []byte, cfg *config, target nn.Model,
	progress func(done, total int64)) (*network, *checkpoint, error) {
	if n := cfg.network(); n != nil {
		if err := n.pair(text, target); err != nil {
			return nil, nil, err
		}
		c, err := openCheckpoint(ctx, fsys, progress)
		return n, c, err
	}
	if !slices.Contains(headTypes, cfg.ModelType) {
		return nil, nil, nil
	}
	err := heads.pair(text, target)
	if _, other := errors.AsType[*qwen35.PairError](err); other {
		return nil, nil, nil // a smaller model, whatever its checkpoint holds
	}
	c, e := openHead(ctx, fsys, cfg, progress)
	if c == nil || e != nil {
		return nil, nil, e
	}
	if err != nil { // the target's own head
		c.close()
		return nil, nil, err
	}
	return heads, c, nil
}
