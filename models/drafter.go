package models

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
	"tandem/models/dflash"
	"tandem/models/gemma4"
	"tandem/models/nn"
	"tandem/models/pocket"
	"tandem/models/qwen35"
)

// DrafterSettings choose between readings of a drafter's checkpoint.
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

// IsDrafter reports whether a folder holds a block network or a head, which is no model by itself.
func IsDrafter(dir string) bool {
	fsys, err := open(dir)
	return err == nil && IsDrafterFS(fsys)
}

// IsDrafterFS is IsDrafter for the files at the root of a file system.
func IsDrafterFS(fsys fs.FS) bool {
	_, cfg, err := readAnyConfig(fsys)
	return err == nil && cfg.isDrafter()
}

// CheckDrafter asks what the load of such a folder asks, without loading it: of its files alone,
// or together with the model in the folder target if that is not empty. name stands for the drafter
// in errors, which are of type *Error.
func CheckDrafter(fsys fs.FS, name, target string) error {
	if err := checkDrafter(fsys, target); err != nil {
		return named(err, Options{Name: name})
	}
	return nil
}

func checkDrafter(fsys fs.FS, target string) error {
	text, cfg, err := readAnyConfig(fsys)
	if err != nil {
		return err
	}
	n := cfg.network()
	if n == nil {
		return errorf(CodeInvalid, "is no drafter, but a model of type %q", cfg.ModelType)
	}
	if _, err := n.kept(text); err != nil {
		return err
	}
	c, err := openCheckpoint(context.Background(), fsys, nil)
	if err != nil {
		return err
	}
	defer c.close()
	if target == "" {
		return nil
	}
	files, err := open(target)
	if err != nil {
		return nil // a target that cannot be read says nothing about its drafter
	}
	m, err := sizesOf(files)
	if err != nil {
		return nil
	}
	w := nn.NewChecks(c, cfg.Quantization)
	if err := n.build(&Drafter{}, w, text, m, DrafterSettings{}); err != nil {
		return err
	}
	return w.Err()
}

// sizesOf returns a model that knows the sizes in its config.json alone.
func sizesOf(fsys fs.FS) (*model, error) {
	text, cfg, err := readConfig(fsys)
	if err != nil {
		return nil, err
	}
	arch, err := architectures[cfg.ModelType](text)
	if err != nil {
		return nil, err
	}
	m := arch.New(nn.NewChecks(noTensors{}, cfg.Quantization))
	return &model{Model: m, config: m.Config()}, nil
}

// LoadDrafter loads the drafter in a folder, or a built-in one by its name, for a target on the same
// thread, which must outlive it. A block network and a head are known by their config.json. A
// model's folder that brings a head for the target is that head. Any other folder is a smaller
// model. settings are for a block network. A drafter that was made for another model, or that has
// other tokens, is refused before its weights are read. Errors about the drafter are of type *Error.
func LoadDrafter(ctx context.Context, target *Bundle, source string, settings DrafterSettings,
	opts Options) (*Drafter, error) {
	if opts.Name == "" {
		opts.Name = filepath.Clean(source)
	}
	fsys, err := openDrafter(source)
	if err != nil {
		return nil, named(err, opts)
	}
	d, err := loadDrafter(ctx, target, fsys, settings, opts)
	if err != nil {
		var finer fs.FS
		if finer, err = refined(ctx, fsys, err); err == nil {
			d, err = loadDrafter(ctx, target, finer, settings, opts)
		}
	}
	if err != nil {
		return nil, named(err, opts)
	}
	return d, nil
}

func loadDrafter(ctx context.Context, target *Bundle, fsys fs.FS, settings DrafterSettings,
	opts Options) (*Drafter, error) {
	if b := opts.Bits; b != 0 && b != 4 && b != 8 {
		return nil, fmt.Errorf("a drafter can be packed in 4 or 8 bits, not %d", b)
	}
	text, cfg, err := readAnyConfig(fsys)
	if err != nil {
		return nil, err
	}
	n, c, err := openNetwork(ctx, fsys, text, cfg, target.Model.(*model), opts.Progress)
	if err != nil {
		return nil, err
	}
	if n == nil {
		return loadSmaller(ctx, target, fsys, opts)
	}
	defer c.close()
	d := &Drafter{thread: target.thread}
	err = c.build(d.thread, cfg.Quantization, opts, func(w *nn.Weights) error {
		w.Direct = true // a block has few rows
		err := n.build(d, w, text, target.Model.(*model), settings)
		if err == nil {
			err = w.Err()
		}
		if err != nil {
			return err
		}
		d.Info.Parameters = w.Parameters()
		d.Info.FileBytes = c.stored
		d.Info.Bytes = w.Bytes()
		d.Info.Quantization = w.Packing()
		d.Info.Unpacked = w.Unpack && w.Unpacking().Elements > 0
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// loadSmaller loads a smaller model as a drafter.
func loadSmaller(ctx context.Context, target *Bundle, fsys fs.FS, opts Options) (*Drafter, error) {
	tokens := &Bundle{}
	if _, err := tokens.loadTokenizer(fsys); err != nil {
		return nil, err
	}
	if err := sameTokens(tokens.Tokenizer, target.Tokenizer); err != nil {
		return nil, err
	}
	b, err := load(ctx, target.thread, fsys, opts)
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
	const most = 40
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	return strconv.Quote(text)
}

// Outline returns the model in a folder without its weights; an empty dir means the pocket model.
// LoadDrafter can check a drafter against it. It is good for nothing else.
func Outline(t *mlx.Thread, dir string) (*Bundle, error) {
	opts := Options{Name: PocketID}
	fsys := pocket.Files()
	if dir != "" {
		opts.Name = filepath.Clean(dir)
		var err error
		if fsys, err = open(dir); err != nil {
			return nil, named(err, opts)
		}
	}
	b, err := outline(t, fsys)
	if err != nil {
		return nil, named(err, opts)
	}
	return b, nil
}

func outline(t *mlx.Thread, fsys fs.FS) (*Bundle, error) {
	m, err := sizesOf(fsys)
	if err != nil {
		return nil, err
	}
	b := &Bundle{thread: t, Model: m}
	_, err = b.loadTokenizer(fsys)
	return b, err
}

// noTensors is an empty checkpoint. An architecture makes a model of it that knows its sizes alone.
type noTensors struct{}

func (noTensors) Names() []string                        { return nil }
func (noTensors) Info(string) (i mlx.TensorInfo, _ bool) { return i, false }
func (noTensors) Load(*mlx.Scope, string) *mlx.Array {
	panic("models: a tensor of an empty checkpoint")
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
