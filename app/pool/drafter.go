package pool

import (
	"context"
	"errors"

	"tandem/app/control"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
)

// BuiltInDrafter stands for the folder of the built-in drafter, which is served with the pocket
// model.
const BuiltInDrafter = models.PocketDrafter

// A Drafter is in memory beside the model that it drafts for.
type Drafter struct {
	draft.Drafter
	source string // its folder, or BuiltInDrafter
	files  *models.Drafter
	flash  *draft.DFlash // nil if the drafter is a whole model

	settings models.DrafterSettings
	trials   []control.Trial
	open     bool // its reading is still to be measured
}

// LoadDrafter loads the drafter in a folder, or a built-in one, for a model. The caller closes it.
func LoadDrafter(ctx context.Context, bundle *models.Bundle, source string,
	set models.DrafterSettings, o models.Options) (*Drafter, error) {
	d := &Drafter{source: source, settings: set}
	var err error
	if source == BuiltInDrafter || source == models.PocketSlidingDrafter {
		d.files, err = models.LoadPocketDrafter(ctx, bundle, source, o)
	} else {
		d.files, err = models.LoadDrafter(ctx, bundle, source, set, o)
	}
	if err != nil {
		return nil, err
	}
	if d.files.Block == nil {
		d.Drafter = draft.NewModel(d.files.Model, bundle.Model)
		return d, nil
	}
	if err := d.files.Thread().Do(ctx, func(s *mlx.Scope) error {
		d.flash = draft.NewDFlash(s, d.files.Block, bundle.Model)
		return s.Err()
	}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.Drafter = d.flash
	return d, nil
}

// Close frees a drafter that no engine uses any more. It does nothing to nil.
func (d *Drafter) Close() error {
	if d == nil {
		return nil
	}
	return errors.Join(d.files.Thread().Do(context.Background(), func(*mlx.Scope) error {
		if d.flash != nil {
			d.flash.Free()
		}
		return nil
	}), d.files.Close())
}

// openDrafter loads what drafts for a model. None is no error.
func (p *Pool) openDrafter(ctx context.Context, row storage.Model, bundle *models.Bundle,
	source string) (*Drafter, error) {
	if source == "" {
		return nil, nil
	}
	set, trials, err := p.reading(ctx, row, source)
	if err != nil {
		return nil, err
	}
	d, err := LoadDrafter(ctx, bundle, source, set,
		models.Options{Dtype: models.DtypePolicy(p.opts.Dtype)})
	if err != nil {
		return nil, err
	}
	d.trials = trials
	// The built-in drafter is read as it was trained.
	d.open = trials == nil && source != BuiltInDrafter && d.files.Block != nil &&
		len(d.files.Block.Variants()) > 1
	return d, nil
}

// draftFor is openDrafter for a model that is served in any case. reason says why there is no
// drafter; each answer tells it.
func (p *Pool) draftFor(ctx context.Context, row storage.Model,
	bundle *models.Bundle) (d *Drafter, reason string, err error) {
	choice, err := p.drafterChoice(ctx, row)
	if err != nil {
		return nil, "", err
	}
	source, err := p.drafterSource(row, choice)
	if err == nil {
		d, err = p.openDrafter(ctx, row, bundle, source)
	}
	if ctx.Err() != nil {
		return nil, "", errors.Join(ctx.Err(), d.Close())
	}
	if err != nil {
		p.log.Warn("a model is served without its drafter", "model", row.ID, "drafter", source,
			"error", err)
	}
	return d, noDrafterReason(err), nil
}

// noDrafterReason says in an answer why a model has no drafter; empty without an error.
func noDrafterReason(err error) string {
	if err == nil {
		return ""
	}
	return "the drafter cannot be used: " + err.Error()
}

// newEngine starts the engine of a model with its drafter, which may be nil. A client's prediction
// comes before the drafter, since it costs nothing. Looking up earlier text (n-grams) comes after
// it, and costs nothing either.
func (m *Model) newEngine(d *Drafter, reason string) *engine.Engine {
	p := m.pool
	o := engine.Options{
		ContextLength: m.context, Logger: p.log,
		Name: m.row.ID, Policies: policies{db: p.db}, NoDrafter: reason,
		Drafters: []draft.Drafter{draft.Prediction{}}, Neighbours: &p.engines,
	}
	if d != nil {
		o.Drafters = append(o.Drafters, d.Drafter)
		o.Policies = policies{p.db, map[string]string{d.Name(): WeightsKey(d.source)}}
	}
	o.Drafters = append(o.Drafters, draft.Ngram{})
	if !p.opts.NoCheckpoints {
		o.Checkpoints, o.Store = p.CheckpointBytes(), m.store
	}
	o.Text, m.needs = m.textMemory(d)
	o.Room, o.Short = m.needs.text, shortRequest // and more once it is in memory, see divideMemory
	return engine.New(p.thread, m.bundle.Model, m.bundle.Tokenizer, o)
}
