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

// A Reading says how the checkpoint of a drafter is read.
type Reading struct {
	Settings  models.DrafterSettings
	Trials    []control.Trial // the measurements that say so; empty if nothing was measured
	Measuring bool            // it is still to be measured, see Finder.TryReadings
}

// Key returns a key that differs between drafters whose guesses or context rows differ. It tells the
// weights, the bits that they are packed in, and the rows of context that they read. A built-in
// drafter is known by a hash of its weights: another build may have others by its name.
func (f *Finder) Key(source string, how Form) string {
	key := ""
	if models.IsBuiltInDrafter(source) {
		key = source + " " + f.builtInHash(source)
	} else {
		key = models.WeightsKey(source)
	}
	if how.Bits > 0 {
		key += fmt.Sprintf(" bits %d", how.Bits)
	}
	if how.Window > 0 {
		key += fmt.Sprintf(" window %d", how.Window)
	}
	return key
}

// readingKey returns the key of how a drafter is read. It tells the drafter, and the form of the
// model's keys and values: the drafter reads other layers' outputs in each.
func (f *Finder) readingKey(source string, how Form) string {
	if how.Target == "" {
		return f.Key(source, how)
	}
	return f.Key(source, how) + " " + how.Target
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

// Reading returns how a drafter is read best for the model with an id. It is the zero Reading if
// nothing was measured.
func (f *Finder) Reading(ctx context.Context, id, source string, how Form) (r Reading, err error) {
	row, err := f.db.Models.Reading(ctx, id, f.readingKey(source, how))
	if storage.IsNotFound(err) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := errors.Join(json.Unmarshal(row.Settings, &r.Settings),
		json.Unmarshal(row.Trials, &r.Trials)); err != nil {
		f.log.Warn("the reading of a drafter is measured again", "model", id, "drafter", source,
			"error", err)
		return Reading{}, nil
	}
	return r, nil
}

// keepReading stores what Reading returns.
func (f *Finder) keepReading(ctx context.Context, id string, d *Drafter, r Reading) error {
	settings, err := json.Marshal(r.Settings)
	if err != nil {
		return err
	}
	trials, err := json.Marshal(r.Trials)
	if err != nil {
		return err
	}
	return f.db.Models.SetReading(ctx, storage.Reading{Model: id, Drafter: d.readingKey,
		Settings: settings, Trials: trials})
}
