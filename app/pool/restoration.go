package pool

import (
	"context"
	"fmt"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/models"
	"tandem/storage"
)

// A Restoration serves a text model whose caches restore rows from the layers of its drafter. Only
// `tandem-lab serve` has one.
type Restoration struct {
	Layout string // shown in place of control.KVFull
	Key    string // differs between restorations that compute other rows

	// Footprint returns the memory of the model, with what restores rows. The caches of the drafter's
	// layers are counted beside it.
	Footprint func(models.Footprint) models.Footprint

	// Open returns the model that the engine evaluates. free is called when it is not used any more.
	Open func(context.Context, *models.Bundle, *models.Drafter) (m lm.Model, free func() error, err error)
}

// restoration returns the Restoration of a model with the drafter in a folder, or "". It is nil for a
// model that is served as it is.
func (s *sizer) restoration(row storage.Model, drafter string) (*Restoration, error) {
	if s.opts.Restore == nil || row.Kind != string(models.KindText) {
		return nil, nil
	}
	return s.opts.Restore(row.ID, row.Path, drafter)
}

// openRestored opens the Restoration of a loaded model, if it has one. d is its drafter, or nil for a
// reason that may be known.
func (m *Model) openRestored(ctx context.Context, d *drafters.Drafter, reason string) (err error) {
	m.served, m.free = m.bundle.Model, func() error { return nil }
	if m.restoration, err = m.pool.restoration(m.row, d.Source()); m.restoration == nil {
		return withReason(err, reason)
	}
	m.served, m.free, err = m.restoration.Open(ctx, m.bundle, d.Files())
	return err
}

// withReason adds to an error of a Restoration why the model has no drafter.
func withReason(err error, reason string) error {
	if err == nil || reason == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, reason)
}

// cacheLayout returns how the engine keeps rows that are not restored.
func (m *Model) cacheLayout() cache.Layout {
	if m.layout == control.KVFull {
		return cache.Full
	}
	return cache.Ring
}
