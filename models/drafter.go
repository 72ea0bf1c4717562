package models

import (
	"context"
	"fmt"
	"strconv"

	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
	"tandem/models/dflash"
	"tandem/models/gemma4"
	"tandem/models/nn"
	"tandem/models/qwen35"
)

// DrafterSettings choose between variants of a drafter's checkpoint.
type DrafterSettings = dflash.Settings

// A Drafter is a loaded drafter of one model: a network that borrows something of the model, or a
// smaller model with the same tokens.
type Drafter struct {
	// One of these is not nil.
	Block     *dflash.Model     // a block network
	Head      *qwen35.MTP       // a head for multi-token prediction
	Assistant *gemma4.Assistant // an assistant, which reads the model's keys and values
	Model     lm.Model          // a model of its own

	Info Info // ContextLength is 0 for what is no model: its positions are the target's

	thread *mlx.Thread
	bundle *Bundle // of Model
}

// IsDrafter reports whether the files are a block network or a head, which is no model by itself.
func (f *Files) IsDrafter() bool {
	cfg, err := f.readConfig()
	return err == nil && cfg.isDrafter()
}

// CheckDrafter asks what the load of such a drafter asks, without loading it: of its files alone, or
// together with those of a model if target is not nil.
func (f *Files) CheckDrafter(target *Files) error { return f.withName(f.checkDrafter(target)) }

func (f *Files) checkDrafter(target *Files) error {
	cfg, err := f.readConfig()
	if err != nil {
		return err
	}
	n := cfg.network()
	if n == nil {
		return errorf(CodeInvalid, "is no drafter, but a model of type %q", cfg.ModelType)
	}
	if _, err := n.kept(cfg.text); err != nil {
		return err
	}
	h, err := f.readWeights()
	if err != nil || target == nil {
		return err
	}
	m, err := target.sizes()
	if err != nil {
		return nil // a target that cannot be read says nothing about its drafter
	}
	w := nn.NewDryRunWeights(h, cfg.Quantization)
	if err := n.build(&Drafter{}, w, cfg.text, m, DrafterSettings{}); err != nil {
		return err
	}
	return w.Err()
}

// sizes returns a model that knows the sizes in config.json alone.
func (f *Files) sizes() (*model, error) {
	cfg, err := f.readModel()
	if err != nil {
		return nil, err
	}
	arch, err := cfg.architecture()
	if err != nil {
		return nil, err
	}
	m := arch.New(nn.NewDryRunWeights(&headers{}, cfg.Quantization))
	return &model{Model: m, config: m.Config()}, nil
}

// LoadDrafter is [Files.LoadDrafter] for a folder, or for a built-in drafter by its name.
func LoadDrafter(ctx context.Context, target *Bundle, source string, settings DrafterSettings,
	opts Options) (*Drafter, error) {
	f, err := OpenDrafter(source)
	if err != nil {
		return nil, err
	}
	return f.LoadDrafter(ctx, target, settings, opts)
}

// LoadDrafter loads a drafter for a target on the same thread, which must outlive it. A block network and
// a head are known by their config.json. The files of a model that bring a head for the target are that
// head. Any other files are a smaller model. settings are for a block network. A drafter that was made
// for another model, or that has other tokens, is refused before its weights are read.
func (f *Files) LoadDrafter(ctx context.Context, target *Bundle, settings DrafterSettings,
	opts Options) (*Drafter, error) {
	d, err := f.loadDrafter(ctx, target, settings, opts)
	if err != nil {
		var finer *Files
		if finer, err = f.refined(ctx, err); err == nil {
			d, err = finer.loadDrafter(ctx, target, settings, opts)
		}
	}
	if err != nil {
		return nil, f.withName(err)
	}
	return d, nil
}

func (f *Files) loadDrafter(ctx context.Context, target *Bundle, settings DrafterSettings,
	opts Options) (*Drafter, error) {
	if b := opts.Bits; b != 0 && b != 4 && b != 8 {
		return nil, fmt.Errorf("a drafter can be packed in 4 or 8 bits, not %d", b)
	}
	cfg, err := f.readConfig()
	if err != nil {
		return nil, err
	}
	n, h, err := f.readNetwork(cfg, target.Model.(*model))
	if err != nil {
		return nil, err
	}
	if n == nil {
		return f.loadSmaller(ctx, target, opts)
	}
	fsys, err := f.files()
	if err != nil {
		return nil, err
	}
	c, err := openWeightFiles(ctx, fsys, h, opts.Progress)
	if err != nil {
		return nil, err
	}
	defer c.close()
	d := &Drafter{thread: target.thread}
	err = c.build(d.thread, cfg.Quantization, opts, func(w *nn.Weights) error {
		err := n.build(d, w, cfg.text, target.Model.(*model), settings)
		if err == nil {
			err = w.Err()
		}
		if err != nil {
			return err
		}
		d.Info.Parameters = w.Parameters()
		d.Info.FileBytes = c.stored
		d.Info.Bytes = w.Bytes()
		d.Info.Quantization = w.QuantizationName()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// loadSmaller loads a smaller model as a drafter.
func (f *Files) loadSmaller(ctx context.Context, target *Bundle, opts Options) (*Drafter, error) {
	t, err := f.readTokens()
	if err != nil {
		return nil, err
	}
	if err := sameTokens(t.tokenizer, target.Tokenizer); err != nil {
		return nil, err
	}
	b, err := f.load(ctx, target.thread, opts)
	if err != nil {
		return nil, err
	}
	return &Drafter{Model: b.Model, Info: b.Info, thread: target.thread, bundle: b}, nil
}

// sameTokens refuses a tokenizer in which an id means another token than in the target's. Drafts
// are ids.
func sameTokens(mine, target *tokenizer.Tokenizer) error {
	for i := range max(mine.Size(), target.Size()) {
		id := int32(i)
		a, b := mine.Token(id), target.Token(id)
		if a != b || mine.IsSpecial(id) != target.IsSpecial(id) {
			return errorf(CodeInvalid,
				"its tokens are not the model's: id %d is %s here and %s there; "+
					"take a smaller model of the same family",
				id, describeToken(mine, id), describeToken(target, id))
		}
	}
	return nil
}

func describeToken(t *tokenizer.Tokenizer, id int32) string {
	text := t.Token(id)
	switch {
	case text == "":
		return "no token"
	case t.IsSpecial(id):
		return "the special token " + quote(text)
	}
	return quote(text)
}

// quote quotes a token for a message, cut to 40 runes.
func quote(text string) string {
	const limit = 40
	if r := []rune(text); len(r) > limit {
		text = string(r[:limit]) + "..."
	}
	return strconv.Quote(text)
}

// Outline returns the model without its weights. LoadDrafter can check a drafter against it. It is good
// for nothing else.
func (f *Files) Outline(t *mlx.Thread) (*Bundle, error) {
	m, err := f.sizes()
	if err != nil {
		return nil, f.withName(err)
	}
	tokens, err := f.readTokens()
	if err != nil {
		return nil, f.withName(err)
	}
	return &Bundle{thread: t, Model: m, Tokenizer: tokens.tokenizer}, nil
}

// Thread returns the thread that the drafter is on.
func (d *Drafter) Thread() *mlx.Thread { return d.thread }

// Close releases the weights. The drafter must not be in use.
func (d *Drafter) Close() error {
	if d.bundle != nil {
		return d.bundle.Close()
	}
	return d.thread.Do(context.Background(), func(*mlx.Scope) error {
		switch {
		case d.Head != nil:
			d.Head.Free()
		case d.Assistant != nil:
			d.Assistant.Free()
		default:
			d.Block.Free()
		}
		return nil
	})
}
