package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/plan"
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
	drafters *drafters.Finder

	opened models.FileCache // the files of models and of drafters
}

// A size is what a model may take in memory, in the forms it may have; see plan.Size.
type size struct {
	forms []loadable
	asked int // tokens of context that a person set; 0 = as many as there is memory for
}

// sizeOf returns what is known of a model's memory by its files.
func (s *sizer) sizeOf(ctx context.Context, row storage.Model) (size, error) {
	asked, set, err := s.askedFor(ctx, row)
	if err != nil {
		return size{}, err
	}
	var drafter string
	choice, missing := s.drafters.Choice(ctx, row.ID)
	if missing == nil {
		// A drafter that cannot be used takes no memory: the model is served without it.
		drafter, missing = s.drafters.Source(row, choice)
	}
	m, err := s.measure(row, drafter, set)
	if err != nil {
		if _, ok := errors.AsType[*noDrafterError](err); ok {
			err = &noDrafterError{row.ID, noDrafterReason(missing)}
		}
		return size{}, Unusable(row, err)
	}
	return size{m.inForms(), asked}, nil
}

// inForms returns m in each form that it may have, the preferred one first: all quantized weights in
// float32, those of the drafter alone, none.
func (m loadable) inForms() []loadable {
	if !m.unpacks {
		return []loadable{m}
	}
	return []loadable{m.as(form{unpacked: true, drafts: true}), m.as(form{drafts: true}), m}
}

// inPlan returns the size as plans take it.
func (z size) inPlan() plan.Size {
	out := plan.Size{Context: z.forms[0].ContextLength, Asked: z.asked}
	for _, f := range z.forms {
		out.Forms = append(out.Forms, f)
	}
	return out
}

// want returns the model of a row as plans take it.
func (z size) want(row storage.Model) plan.Want {
	return plan.Want{ID: row.ID, Size: z.inPlan(), Always: row.Source == storage.SourcePocket}
}

// need returns what a model would take if no other were in memory, and whether its quantized weights
// would be held in float32, as far as its files tell. Error: CodeMemory if it does not fit, together
// with the need.
func (s *sizer) need(ctx context.Context, row storage.Model) (n plan.Need, unpacked bool, err error) {
	z, err := s.sizeOf(ctx, row)
	if err != nil {
		return n, false, err
	}
	n, err = s.limits().Alone(z.want(row))
	return n, z.forms[n.Form].unpacked, err
}

// measure returns the memory of a model and of its drafter's folder, which may be empty, if they are
// loaded so. The pocket drafter is too small to count. Error: also a model that cannot be loaded so.
func (s *sizer) measure(row storage.Model, drafter string, set formSetting) (loadable, error) {
	found, err := s.inspect(row)
	m, refused := s.loadable(found, set)
	if drafter != "" && drafter != models.PocketDrafter {
		if size, e := s.drafters.Measure(row, drafter); e == nil {
			m.draftsWide = s.computesWide(size, set.dtype)
			if set.layout == control.KVFull {
				size = size.Full()
			}
			if m.drafter = size.PackedIn(set.drafterBits); !s.thread.GPU() {
				m.drafter = m.drafter.OnCPU()
			}
		}
	}
	if err = cmp.Or(err, refused); err == nil && set.bounds(found.Kind) {
		var dir string
		if dir, err = s.findFTheta(row, drafter); err != nil {
			return m, err
		}
		c, err := models.ReadFTheta(dir)
		if err != nil {
			return m, &fThetaError{row.ID, err}
		}
		m.Footprint, m.fTheta = m.Footprint.Bounded(c), c.Parameters()
	}
	return m, err
}

// loadable returns a model without a drafter. Error: its keys and values cannot be held so.
func (s *sizer) loadable(found models.Summary, set formSetting) (loadable, error) {
	set = set.of(found.Kind)
	wide := s.computesWide(found.Footprint, set.dtype)
	of, err := found.Footprint.Quantized(set.kvBits)
	if err != nil {
		advice := "; set it to 0 for this model"
		if by, given := s.settings.Given("kv_bits"); given {
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
		of = of.Unpacking(gpu)
	}
	return loadable{Footprint: of,
		unpacks: wide && !gpu && set.dtype != models.DtypeCheckpoint,
		form:    form{formSetting: set, wide: wide}}, err
}

// measure returns the memory of the model as it is held, with the drafter in a folder, see
// [Pool.measure].
func (m *Model) measure(drafter string) (loadable, error) {
	size, err := m.pool.measure(m.row, drafter, m.formSetting)
	return size.as(m.form), err
}

// textMemory returns the need of the model with its whole context. text turns the length of a text in
// tokens into its memory in bytes; it is nil if the files cannot be read.
func (m *Model) textMemory(d *drafters.Drafter) (text func(tokens int) int64, whole plan.Need) {
	source := ""
	if d != nil {
		source = d.Source()
	}
	held, err := m.measure(source)
	if err != nil {
		m.pool.log.Warn("the memory of requests is not known, so all of them are served at once",
			"model", m.row.ID, "error", err)
		return nil, plan.Need{}
	}
	whole.Context = cmp.Or(m.context, held.ContextLength)
	whole.Weights, whole.Text = held.Bytes(whole.Context)
	return func(tokens int) int64 { _, text := held.Bytes(tokens); return text }, whole
}
