package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"tandem/app/pool"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/mlx"
	"tandem/models"
)

// benchModel starts MLX and loads the model to measure. The caller closes both.
func benchModel(ctx context.Context, dir string,
	o models.Options) (*mlx.Thread, *models.Bundle, error) {
	t, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		return nil, nil, err
	}
	b, err := loadBenchModel(ctx, t, dir, o)
	if err != nil {
		return nil, nil, errors.Join(err, t.Close())
	}
	return t, b, nil
}

// loadBenchModel loads the model in a folder, retrievalModel by its name, or the pocket model without
// one. Its weights are held as a server with enough memory holds them. The built-in models are no files:
// a folder of the same name is ./retrieval.
func loadBenchModel(ctx context.Context, t *mlx.Thread, dir string,
	o models.Options) (*models.Bundle, error) {
	switch dir {
	case "":
		return models.LoadPocket(ctx, t, asServed(o, "", t.GPU()))
	case retrievalModel:
		return models.LoadRetrieval(ctx, t, asServed(o, "", t.GPU()))
	}
	return models.Load(ctx, t, dir, asServed(o, dir, t.GPU()))
}

// asServed returns the options with which a server loads a model or a drafter of the same dtype; dir is
// empty for a built-in one. With checkpoint its weights stay packed, and on the CPU a GGUF file computes
// in float32 all the same.
func asServed(o models.Options, dir string, gpu bool) models.Options {
	o.Unpack = o.Dtype != models.DtypeCheckpoint
	if o.Unpack || gpu || dir == "" {
		return o
	}
	if size, _ := models.MeasureDrafter(dir); size.IsGGUF() { // what is wrong with it, its load says
		o.Dtype = models.DtypeFloat32
	}
	return o
}

// benchModelName returns the name under which a model's figures are kept.
func benchModelName(dir string) string {
	if dir == "" {
		return "pocket"
	}
	return filepath.Base(filepath.Clean(dir))
}

// benchIDs returns n token ids that any model with a few hundred tokens can evaluate.
func benchIDs(n, vocab int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(100 + i*37%(min(vocab, 4000)-100))
	}
	return ids
}

// benchDrafters are the drafters of one model, loaded.
type benchDrafters struct {
	list   []draft.Drafter
	loaded []*pool.Drafter
}

// loadBenchDrafters loads the drafters in the given folders, in the model's type. Without folders
// it loads the one in the model's folder, else the built-in one of the model, if there is one. A
// server also takes a head in the model's weights and drafters in the hub's cache: a bench gets
// these by their folders. The n-gram drafter comes last. The caller closes them.
func loadBenchDrafters(ctx context.Context, b *models.Bundle, model string, dirs []string,
	o models.Options) (*benchDrafters, error) {
	if len(dirs) == 0 {
		beside := ""
		if model != "" {
			beside = pool.DrafterBeside(model)
		}
		switch own := models.BuiltInDrafter(model); {
		case model == "":
			dirs = []string{models.PocketDrafter}
		case model == retrievalModel:
			dirs = []string{models.RetrievalDrafter}
		case beside != "":
			dirs = []string{beside}
		case own != "":
			dirs = []string{own}
		}
	}
	d := &benchDrafters{}
	names := distinctNames(dirs)
	for i, dir := range dirs {
		one, err := pool.LoadDrafter(ctx, b, dir, models.DrafterSettings{},
			asServed(o, dir, b.Thread().GPU()))
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		d.loaded = append(d.loaded, one)
		if len(dirs) > 1 {
			d.list = append(d.list, named{one.Drafter, names[i]})
		} else {
			d.list = append(d.list, one.Drafter)
		}
	}
	d.list = append(d.list, draft.Ngram{})
	return d, nil
}

// continued returns drafters with those that go on where lookups end, as a server has them.
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

// Close frees the drafters.
func (d *benchDrafters) Close() error {
	var errs []error
	for _, one := range d.loaded {
		errs = append(errs, one.Close())
	}
	d.loaded = nil
	return errors.Join(errs...)
}

// A named drafter has another name, to tell two of one kind apart.
type named struct {
	draft.Drafter
	name string
}

// Name implements draft.Drafter.
func (n named) Name() string { return n.name }

// Continues says what the drafter says, see draft.CanContinue.
func (n named) Continues() bool { return draft.CanContinue(n.Drafter) }
