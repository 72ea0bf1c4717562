package drafters

import (
	"context"
	"errors"
	"sync"

	"tandem/engine/draft"
	"tandem/engine/mlx"
	"tandem/models"
)

// A Drafter is in memory beside the model that it drafts for.
type Drafter struct {
	draft.Drafter
	source string          // its folder, or the name of a built-in one
	files  *models.Drafter // its weights as loaded, of one of several kinds
	dflash *draft.DFlash   // nil unless the weights are a block network, DFlash or DSpark

	key, variantKey string // see Finder.Open

	mu      sync.Mutex
	variant Variant // guarded by mu
}

// Load loads the drafter in a folder, or a built-in one, for a model. The caller closes it.
func Load(ctx context.Context, bundle *models.Bundle, source string, set models.DrafterSettings,
	o models.Options) (*Drafter, error) {
	files, err := models.OpenDrafter(source)
	if err != nil {
		return nil, err
	}
	return load(ctx, bundle, source, files, set, o)
}

func load(ctx context.Context, bundle *models.Bundle, source string, files *models.Files,
	set models.DrafterSettings, o models.Options) (*Drafter, error) {
	d := &Drafter{source: source, variant: Variant{Settings: set}}
	var err error
	if d.files, err = files.LoadDrafter(ctx, bundle, set, o); err != nil {
		return nil, err
	}
	switch {
	case d.files.Head != nil:
		d.Drafter = draft.NewMTP(d.files.Head, bundle.Model)
		return d, nil
	case d.files.Assistant != nil:
		d.Drafter = draft.NewAssistant(d.files.Assistant, bundle.Model)
		return d, nil
	case d.files.Block == nil:
		d.Drafter = draft.NewModel(d.files.Model, bundle.Model)
		return d, nil
	}
	if err := d.files.Thread().Do(ctx, func(s *mlx.Scope) error {
		d.dflash = draft.NewDFlash(s, d.files.Block, bundle.Model.Config().VocabSize)
		return s.Err()
	}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.Drafter = d.dflash
	return d, nil
}

// Source returns its folder, or the name of a built-in one. It is "" of nil.
func (d *Drafter) Source() string {
	if d == nil {
		return ""
	}
	return d.source
}

// Files returns its loaded files.
func (d *Drafter) Files() *models.Drafter { return d.files }

// Bytes returns what its weights take in memory, 0 of nil.
func (d *Drafter) Bytes() int64 {
	if d == nil {
		return 0
	}
	return d.files.Info.Bytes
}

// Key returns what [Finder.Key] says of it, as it was opened. It is empty after [Load], and of nil.
func (d *Drafter) Key() string {
	if d == nil {
		return ""
	}
	return d.key
}

// Variant returns how its weights are used.
func (d *Drafter) Variant() Variant {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.variant
}

func (d *Drafter) setVariant(r Variant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.variant = r
}

// Variants returns the ways to use its weights, the usual one first. Only a block network has any.
func (d *Drafter) Variants() []models.DrafterSettings {
	if d.files.Block == nil {
		return nil
	}
	return d.files.Block.Variants()
}

// UseVariant makes requests from the next one on draft with one of its Variants.
func (d *Drafter) UseVariant(ctx context.Context, set models.DrafterSettings) error {
	block, err := d.files.Block.With(set)
	if err != nil {
		return err
	}
	return d.files.Thread().Do(ctx, func(*mlx.Scope) error { d.dflash.Use(block); return nil })
}

// Close frees a drafter that no engine uses any more. It does nothing to nil.
func (d *Drafter) Close() error {
	if d == nil {
		return nil
	}
	return errors.Join(d.files.Thread().Do(context.Background(), func(*mlx.Scope) error {
		if d.dflash != nil {
			d.dflash.Free()
		}
		return nil
	}), d.files.Close())
}
