package pool

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/restore"
	"tandem/models"
	"tandem/storage"
	"tandem/storage/disk"
)

// A bounded serves a model whose layers are bounded, see [control.KVLayouts].
type bounded struct {
	model *restore.Model
	files *models.FTheta
	dir   string // of the f_theta
}

// close frees the f_theta. It does nothing to nil.
func (b *bounded) close() error {
	if b == nil {
		return nil
	}
	return b.files.Close()
}

// A noDrafterError says that the layers of a model cannot be bounded, since nothing restores rows.
type noDrafterError struct {
	id  string
	why string // the drafter that it should have cannot be used; empty if it should have none
}

func (e *noDrafterError) Error() string {
	why := "it has no drafter to restore rows from"
	if e.why != "" {
		why = e.why
	}
	return fmt.Sprintf("the layers of %s cannot be bounded: %s. "+
		"Set one with `tandem models drafter %s FOLDER`, or leave out --kv-layout bounded",
		e.id, why, e.id)
}

// An fThetaError says that the layers of a model cannot be bounded by an f_theta, or that it has none.
type fThetaError struct {
	id  string
	err error
}

func (e *fThetaError) Error() string {
	return fmt.Sprintf("the layers of %s cannot be bounded: %v. "+
		"Name an f_theta with --f-theta, or leave out --kv-layout bounded", e.id, e.err)
}

func (e *fThetaError) Unwrap() error { return e.err }

// CannotBound reports whether err says that the layers of a model cannot be bounded. Its text says what
// to do. Only the lab bounds layers: its serve ends with such an error, where `tandem serve` would go on
// without a model.
func CannotBound(err error) bool {
	_, drafter := errors.AsType[*noDrafterError](err)
	_, fTheta := errors.AsType[*fThetaError](err)
	return drafter || fTheta
}

// findFTheta returns the folder of the f_theta that restores the rows of a model from the layers of the
// drafter in a folder.
func (s *sizer) findFTheta(row storage.Model, drafter string) (dir string, err error) {
	if drafter == "" {
		return "", &noDrafterError{id: row.ID}
	}
	if s.opts.FTheta != "" {
		return s.opts.FTheta, nil
	}
	beside := []string{drafter, row.Path}
	if row.Path != "" && !disk.IsDir(row.Path) {
		beside[1] = filepath.Dir(row.Path)
	}
	beside = slices.DeleteFunc(beside, // the name of a built-in drafter is no folder
		func(dir string) bool { return dir == "" || models.IsBuiltInDrafter(dir) })
	if dir = models.FindFTheta(beside...); dir == "" {
		return "", &fThetaError{row.ID, fmt.Errorf(
			"neither its drafter nor the model has a folder %s", models.FThetaFolder)}
	}
	return dir, nil
}

// openBounded bounds the layers of a loaded model, if that is asked for. d is its drafter; where it has
// none, reason may say why. Models that do not generate stay as they are.
func (p *Pool) openBounded(ctx context.Context, m *Model, d *drafters.Drafter, reason string) (*bounded, error) {
	if !m.bounds(m.bundle.Purpose.Kind) {
		return nil, nil
	}
	if d == nil {
		return nil, &noDrafterError{m.row.ID, reason}
	}
	dir, err := p.findFTheta(m.row, d.Source())
	if err != nil {
		return nil, err
	}
	b := &bounded{dir: dir}
	if b.files, err = models.LoadFTheta(ctx, m.bundle, d.Files(), dir, models.Options{}); err != nil {
		return nil, &fThetaError{m.row.ID, err}
	}
	c := b.files.Config
	b.model, err = restore.New(m.bundle.Model, restore.Options{
		Sink: *c.SinkSize, Window: *c.WindowSize, Exact: c.ExactLayers,
		Source: restore.FTheta(b.files.Stack, b.files.Projection),
	})
	if err != nil {
		err = &fThetaError{m.row.ID, fmt.Errorf("%s: %w", m.bundle.Info.Architecture, err)}
		return nil, errors.Join(err, b.close())
	}
	p.log.Info("layers are bounded", "model", m.row.ID, "f_theta", dir, "layers",
		len(b.model.Bounded()), "exact", c.ExactLayers, "sink", *c.SinkSize, "window", *c.WindowSize)
	return b, nil
}

// served returns the model that the engine evaluates.
func (m *Model) served() lm.Model {
	if m.bounded != nil {
		return m.bounded.model
	}
	return m.bundle.Model
}

// cacheLayout returns how the engine keeps the rows of layers that are not bounded.
func (m *Model) cacheLayout() cache.Layout {
	if m.layout == control.KVFull {
		return cache.Full
	}
	return cache.Ring
}

// describe returns what the state shows about bounded layers, nil if there are none. now is what all
// requests in flight hold.
func (b *bounded) describe(device string, now lm.KVBytes) *control.Bounded {
	if b == nil {
		return nil
	}
	c := b.files.Config
	return &control.Bounded{
		FTheta: b.dir, Sink: *c.SinkSize, Window: *c.WindowSize, Layers: len(b.model.Bounded()),
		ExactLayers: append([]int{}, c.ExactLayers...),
		ExactBytes:  now.Exact, OwnBytes: now.Window, RestoredBytes: now.Restored + now.Source,
		TotalBytes: now.Total(), Where: "memory of the " + device,
	}
}

// refuseOtherDrafter is the error for another drafter of a model with bounded layers.
func refuseOtherDrafter(row storage.Model) error {
	return control.Errorf(control.CodeInvalid, "The layers of %s are bounded, and its f_theta reads "+
		"the drafter that it has; unload the model to set another one.", row.ID)
}
