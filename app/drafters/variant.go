package drafters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"tandem/app/control"
	"tandem/models"
	"tandem/storage"
)

// A Variant says how the weights of a drafter are used, for example with raw embeddings.
type Variant struct {
	Settings  models.DrafterSettings
	Trials    []control.Trial // the measurements that say so; empty if nothing was measured
	Measuring bool            // it is still to be measured, see Finder.MeasureVariants
}

// Key returns a key that differs between drafters whose drafts or context rows differ. It tells the
// weights, the bits that they are packed in, and the rows of context that they read. A built-in
// drafter is known by a hash of its weights: another build may have others by its name.
func (f *Finder) Key(source string, o LoadOptions) string {
	key := ""
	if models.IsBuiltInDrafter(source) {
		key = source + " " + f.builtInHash(source)
	} else {
		key = models.WeightsKey(source)
	}
	if o.Bits > 0 {
		key += fmt.Sprintf(" bits %d", o.Bits)
	}
	if o.Window > 0 {
		key += fmt.Sprintf(" window %d", o.Window)
	}
	return key
}

// variantKey returns the key of a drafter's Variant. It tells the drafter, and the format of the
// model's keys and values: the drafter reads other layers' outputs in each.
func (f *Finder) variantKey(source string, o LoadOptions) string {
	if o.Target == "" {
		return f.Key(source, o)
	}
	return f.Key(source, o) + " " + o.Target
}

// builtInHash returns a hash of a built-in drafter's weights, read once: they take up to 24 MB.
func (f *Finder) builtInHash(name string) string {
	hash, err := f.builtIn.Get(name, name, func() (string, error) {
		h := sha256.New()
		err := models.CopyDrafterWeights(h, name)
		return hex.EncodeToString(h.Sum(nil)[:16]), err
	})
	if err != nil {
		f.log.Warn("a built-in drafter cannot be read", "drafter", name, "error", err)
	}
	return hash
}

// Variant returns how a drafter's weights are used best for the model with an id. It is the zero Variant if
// nothing was measured.
func (f *Finder) Variant(ctx context.Context, id, source string, o LoadOptions) (r Variant, err error) {
	row, err := f.db.Models.Reading(ctx, id, f.variantKey(source, o))
	if storage.IsNotFound(err) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := errors.Join(json.Unmarshal(row.Settings, &r.Settings),
		json.Unmarshal(row.Trials, &r.Trials)); err != nil {
		f.log.Warn("the variant of a drafter is measured again", "model", id, "drafter", source,
			"error", err)
		return Variant{}, nil
	}
	return r, nil
}

// keepVariant stores what Variant returns.
func (f *Finder) keepVariant(ctx context.Context, id string, d *Drafter, r Variant) error {
	settings, err := json.Marshal(r.Settings)
	if err != nil {
		return err
	}
	trials, err := json.Marshal(r.Trials)
	if err != nil {
		return err
	}
	return f.db.Models.SetReading(ctx, storage.Reading{Model: id, Drafter: d.variantKey,
		Settings: settings, Trials: trials})
}
