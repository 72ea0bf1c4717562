package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"tandem/app/drafters"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/mlx"
	"tandem/models"
)

// OpenModel starts MLX and loads the model to measure. The caller closes both.
func OpenModel(ctx context.Context, dir string,
	o models.Options) (*mlx.Thread, *models.Bundle, error) {
	t, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		return nil, nil, err
	}
	b, err := LoadModel(ctx, t, dir, o)
	if err != nil {
		return nil, nil, errors.Join(err, t.Close())
	}
	return t, b, nil
}

// LoadModel loads the model in a folder, or the pocket model without one. Its weights are loaded as
// by a server with enough memory.
func LoadModel(ctx context.Context, t *mlx.Thread, dir string,
	o models.Options) (*models.Bundle, error) {
	if dir == "" {
		return models.OpenPocket().Load(ctx, t, AsServed(o, "", t.GPU()))
	}
	return models.Load(ctx, t, dir, AsServed(o, dir, t.GPU()))
}

// AsServed returns the options with which a server loads a model or a drafter of the same dtype;
// dir is empty for a built-in one. With checkpoint a GGUF file still computes in float32 on the CPU.
func AsServed(o models.Options, dir string, gpu bool) models.Options {
	if o.Dtype != models.DtypeCheckpoint || gpu || dir == "" {
		return o
	}
	if f, err := models.OpenDrafter(dir); err == nil { // what is wrong with it, its load says
		if size, _ := f.Drafter(); size.IsGGUF() {
			o.Dtype = models.DtypeFloat32
		}
	}
	return o
}

// ModelName returns the name under which a model's figures are kept.
func ModelName(dir string) string {
	if dir == "" {
		return "pocket"
	}
	return filepath.Base(filepath.Clean(dir))
}

// TokenIDs returns n token ids that any model with a few hundred tokens can evaluate.
func TokenIDs(n, vocab int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(100 + i*37%(min(vocab, 4000)-100))
	}
	return ids
}

// Drafters are the drafters of one model, loaded.
type Drafters struct {
	List   []draft.Drafter
	Loaded []*drafters.Drafter
}

// LoadDrafters loads the drafters in the given folders, in the model's type. Without folders it
// loads the one in the model's folder, else the built-in one of the model, if any. A server also
// uses a head in the model's weights and drafters in the hub's cache: a bench gets these by their
// folders. The n-gram drafter comes last. The caller closes them.
func LoadDrafters(ctx context.Context, b *models.Bundle, model string, dirs []string,
	o models.Options) (*Drafters, error) {
	if len(dirs) == 0 {
		beside := ""
		if model != "" {
			beside = drafters.Beside(model)
		}
		switch own := models.BuiltInDrafter(model); {
		case model == "":
			dirs = []string{models.PocketDrafter}
		case beside != "":
			dirs = []string{beside}
		case own != "":
			dirs = []string{own}
		}
	}
	d := &Drafters{}
	names := distinctNames(dirs)
	for i, dir := range dirs {
		one, err := drafters.Load(ctx, b, dir, models.DrafterSettings{},
			AsServed(o, dir, b.Thread().GPU()))
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		d.Loaded = append(d.Loaded, one)
		if len(dirs) > 1 {
			d.List = append(d.List, named{one.Drafter, names[i]})
		} else {
			d.List = append(d.List, one.Drafter)
		}
	}
	d.List = append(d.List, draft.Ngram{})
	return d, nil
}

// continued returns drafters and those that continue lookups, as a server has them.
func continued(drafters []draft.Drafter) []draft.Drafter {
	list := slices.Clone(drafters)
	for _, d := range drafters {
		if draft.CanContinue(d) {
			list = append(list, draft.NewContinued(d))
		}
	}
	return list
}

// distinctNames returns a name for each folder: its last element, with a number if that name is
// taken.
func distinctNames(dirs []string) []string {
	taken := []string{engine.Auto, engine.None, draft.Ngram{}.Name()}
	for _, dir := range dirs {
		base := filepath.Base(filepath.Clean(dir))
		name := base
		for n := 2; slices.Contains(taken, name); n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken = append(taken, name)
	}
	return taken[len(taken)-len(dirs):]
}

// Close frees the drafters. It does nothing for nil.
func (d *Drafters) Close() error {
	if d == nil {
		return nil
	}
	var errs []error
	for _, one := range d.Loaded {
		errs = append(errs, one.Close())
	}
	d.Loaded = nil
	return errors.Join(errs...)
}

// A named drafter has another name, to distinguish two of one kind.
type named struct {
	draft.Drafter
	name string
}

// Name implements draft.Drafter.
func (n named) Name() string { return n.name }

// Continues returns what the drafter returns, see draft.CanContinue.
func (n named) Continues() bool { return draft.CanContinue(n.Drafter) }
