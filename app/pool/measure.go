package pool

import (
	"cmp"
	"context"
	"fmt"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/eviction"
	"tandem/app/settings"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
)

// A sizer measures models by their files and their settings. It does not know what is in memory.
type sizer struct {
	opts     Options
	thread   *mlx.Thread
	db       *storage.DB
	settings *settings.Store
	perModel *settings.Models
	drafters *drafters.Finder

	opened models.FileCache // the files of models and of drafters
}

// sizeOf returns what is known of a model's memory by its files, and as plans take it.
func (s *sizer) sizeOf(ctx context.Context, row storage.Model) (loadable, eviction.Size, error) {
	var drafter string
	choice, missing := s.drafters.Choice(ctx, row.ID)
	if missing == nil {
		// A drafter that cannot be used takes no memory: the model is served without it.
		drafter, missing = s.drafters.Source(row, choice)
	}
	return s.sizeWith(ctx, row, drafter, missing)
}

// sizeWith is sizeOf with the drafter in a folder, or "". missing says why there is none, or is nil.
func (s *sizer) sizeWith(ctx context.Context, row storage.Model, drafter string,
	missing error) (loadable, eviction.Size, error) {
	asked, set, err := s.askedFor(ctx, row)
	if err != nil {
		return loadable{}, eviction.Size{}, err
	}
	m, err := s.measure(row, drafter, set)
	if err != nil {
		if s.opts.Restore != nil {
			err = withReason(err, noDrafterReason(missing))
		}
		return m, eviction.Size{}, Unusable(row, err)
	}
	return m, m.size(asked), nil
}

// want returns the model of a row as plans take it.
func want(row storage.Model, z eviction.Size) eviction.Want {
	return eviction.Want{ID: row.ID, Size: z, Always: row.Source == storage.SourcePocket}
}

// need returns what a model would take if no other were in memory, as far as its files tell, and its
// size. Error: CodeMemory if it does not fit, together with both.
func (s *sizer) need(ctx context.Context, row storage.Model) (n eviction.Need, z eviction.Size, err error) {
	if _, z, err = s.sizeOf(ctx, row); err == nil {
		n, err = s.limits().Alone(want(row, z))
	}
	return n, z, err
}

// measure returns the memory of a model and of its drafter's folder, which may be empty, if they are
// loaded so. The pocket drafter is too small to count. Error: also a model that cannot be loaded so.
func (s *sizer) measure(row storage.Model, drafter string, set formatSetting) (loadable, error) {
	found, err := s.inspect(row)
	m, refused := s.loadable(found, set)
	if drafter != "" && drafter != models.PocketDrafter {
		if size, e := s.drafters.Measure(row, drafter); e == nil {
			m.drafterWide = s.computesWide(size, set.dtype)
			if set.layout == control.KVFull {
				size = size.Full()
			}
			if m.drafter = size.QuantizedTo(set.drafterBits); !s.thread.GPU() {
				m.drafter = m.drafter.OnCPU()
			}
		}
	}
	if err := cmp.Or(err, refused); err != nil {
		return m, err
	}
	r, err := s.restoration(row, drafter)
	if m.restored = r != nil; m.restored {
		m.Footprint = r.Footprint(m.Footprint)
	}
	return m, err
}

// loadable returns a model without a drafter. Error: its keys and values cannot be held so.
func (s *sizer) loadable(found models.Summary, set formatSetting) (loadable, error) {
	set = set.of(found.Kind)
	wide := s.computesWide(found.Footprint, set.dtype)
	of, err := found.Footprint.QuantizedKV(set.kvBits)
	if err != nil {
		advice := "; set it to 0 for this model"
		if by, given := s.settings.Overridden("kv_bits"); given {
			advice = fmt.Sprintf(", by %s; leave that out", by.By)
		}
		err = fmt.Errorf("%w (kv_bits is %d%s)", err, set.kvBits, advice)
	}
	if set.layout == control.KVFull {
		of = of.Full()
	}
	gpu := s.thread.GPU()
	if !gpu {
		of = of.OnCPU()
	}
	if gpu || !wide {
		of = of.DequantizingKV(gpu)
	}
	return loadable{Footprint: of, format: format{formatSetting: set, wide: wide}}, err
}

// sequenceMemory returns the need of the model with its whole context. bytes turns the length of a sequence in
// tokens into its memory in bytes; it is nil if the files cannot be read.
func (m *Model) sequenceMemory(d *drafters.Drafter) (bytes func(tokens int) int64, whole eviction.Need) {
	held, err := m.pool.measure(m.row, d.Source(), m.formatSetting)
	if err != nil {
		m.pool.log.Warn("the memory of requests is not known, so all of them are served at once",
			"model", m.row.ID, "error", err)
		return nil, eviction.Need{}
	}
	whole.Context = cmp.Or(m.context, held.ContextLength)
	whole.Weights, whole.Cache = held.Bytes(whole.Context)
	return func(tokens int) int64 { _, cache := held.Bytes(tokens); return cache }, whole
}

// formatSetting returns what the next load of a model with settings of its own does. A flag or the
// environment wins over these.
func (s *sizer) formatSetting(own control.ModelSettings) formatSetting {
	now := s.settings.Current()
	set := formatSetting{dtype: models.DtypePolicy(now.Dtype), kvBits: now.KVBits,
		layout: s.opts.KVLayout}
	if _, given := s.settings.Overridden("kv_bits"); !given && own.KVBits != nil {
		set.kvBits = *own.KVBits
	}
	if own.DraftWindow != nil {
		set.draftWindow = *own.DraftWindow
	}
	if own.DrafterBits != nil {
		set.drafterBits = *own.DrafterBits
	}
	return set
}

// computesWide reports whether a model is computed in float32, see models.DtypeAuto. On the CPU a
// GGUF file is, whatever the dtype: in bfloat16 a small one answers nonsense.
func (s *sizer) computesWide(of models.Footprint, dtype models.DtypePolicy) bool {
	switch dtype {
	case models.DtypeFloat32:
		return true
	case models.DtypeCheckpoint:
		return of.IsGGUF() && !s.thread.GPU()
	}
	return !s.thread.GPU()
}

// filesOf returns the files of a model, which are read once until one of them changes.
func (s *sizer) filesOf(row storage.Model) (*models.Files, error) {
	return s.opened.Open(cmp.Or(row.Path, models.PocketID))
}

// inspect returns what the headers of a model tell.
func (s *sizer) inspect(row storage.Model) (models.Summary, error) {
	files, err := s.filesOf(row)
	if err != nil {
		return models.Summary{}, err
	}
	return files.Summary()
}

// Inspect is [models.Inspect]. It reads a path again only if one of its files has changed.
func (s *sizer) Inspect(path string) (models.Summary, error) {
	return s.InspectBy(path, func() (*models.Files, error) { return models.Open(path) })
}

// InspectBy is Inspect with another function that opens the files at a path.
func (s *sizer) InspectBy(path string,
	open func() (*models.Files, error)) (models.Summary, error) {
	files, err := s.opened.OpenBy(path, open)
	if err != nil {
		return models.Summary{}, err
	}
	return files.Summary()
}
