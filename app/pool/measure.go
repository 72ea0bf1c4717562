package pool

import (
	"cmp"
	"context"
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
	var drafter string
	choice, missing := s.drafters.Choice(ctx, row.ID)
	if missing == nil {
		// A drafter that cannot be used takes no memory: the model is served without it.
		drafter, missing = s.drafters.Source(row, choice)
	}
	return s.sizeWith(ctx, row, drafter, missing)
}

// sizeWith is sizeOf with the drafter in a folder, or "". missing says why there is none, or is nil.
func (s *sizer) sizeWith(ctx context.Context, row storage.Model, drafter string, missing error) (size, error) {
	asked, set, err := s.askedFor(ctx, row)
	if err != nil {
		return size{}, err
	}
	m, err := s.measure(row, drafter, set)
	if err != nil {
		if s.opts.Restore != nil {
			err = withReason(err, noDrafterReason(missing))
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
func (s *sizer) loadable(found models.Summary, set formSetting) (loadable, error) {
	set = set.of(found.Kind)
	wide := s.computesWide(found.Footprint, set.dtype)
	of, err := found.Footprint.QuantizedKV(set.kvBits)
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
		of = of.DequantizingKV(gpu)
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
	held, err := m.measure(d.Source())
	if err != nil {
		m.pool.log.Warn("the memory of requests is not known, so all of them are served at once",
			"model", m.row.ID, "error", err)
		return nil, plan.Need{}
	}
	whole.Context = cmp.Or(m.context, held.ContextLength)
	whole.Weights, whole.Text = held.Bytes(whole.Context)
	return func(tokens int) int64 { _, text := held.Bytes(tokens); return text }, whole
}

// A formSetting is what the settings say about the form of a model.
type formSetting struct {
	dtype  models.DtypePolicy
	kvBits int    // of an element in the caches of the model, see engine.Options
	layout string // control.KVRing or control.KVFull; empty = ring

	// Of the drafter; 0 = as it is.
	draftWindow int // rows of context, see models.DrafterSettings
	drafterBits int // see models.Options
}

// bits returns what a model's own settings say about the form.
func (f formSetting) bits() [3]int { return [3]int{f.kvBits, f.draftWindow, f.drafterBits} }

// of returns the setting for a model of a kind. Models of vectors and scores keep
// whole keys and values. So new vectors agree with those that a program has kept.
func (f formSetting) of(k models.Kind) formSetting {
	if k != models.KindText {
		f.kvBits = 0
	}
	return f
}

// A form says how weights are held in memory, and in which type they are computed with. It is chosen
// at the load.
type form struct {
	formSetting
	wide       bool // the model and its drafter compute in float32
	draftsWide bool // the drafter alone does
	unpacked   bool // quantized weights are held in float32
	drafts     bool // those of a drafter are
}

// options returns what the load of a model needs to know about the form.
func (f form) options() models.Options {
	return models.Options{Dtype: f.policy(f.wide), Dequantize: f.unpacked}
}

// drafterOptions returns what the load of its drafter needs to know.
func (f form) drafterOptions() models.Options {
	return models.Options{Dtype: f.policy(f.wide || f.draftsWide),
		Dequantize: f.drafts && f.drafterBits == 0, Bits: f.drafterBits}
}

// policy returns the type of a load. wide: it is float32.
func (f form) policy(wide bool) models.DtypePolicy {
	if wide {
		return models.DtypeFloat32
	}
	return f.dtype
}

// A loadable is what is known of a model's memory in one form. It implements plan.Form.
type loadable struct {
	models.Footprint
	drafter  models.Footprint // zero if it has none
	restored bool             // rows are restored from the drafter's layers
	unpacks  bool             // their quantized weights may be held in float32 too
	form                      // that they are held in
}

// as returns m with quantized weights held as in a form.
func (m loadable) as(f form) loadable {
	if f.unpacked {
		m.Footprint = m.Footprint.Dequantized()
	}
	if f.drafts && m.drafterBits == 0 { // else a person wants it packed
		m.drafter = m.drafter.Dequantized()
	}
	m.unpacked, m.drafts, m.unpacks = f.unpacked, f.drafts, false
	return m
}

// drafterWeights returns the bytes of its drafter's weights, with the rows that it copies of the
// model's head.
func (m loadable) drafterWeights() int64 {
	return m.drafter.CutFrom(m.Footprint, m.wide).Weights(m.wide || m.draftsWide)
}

// Bytes returns what the model takes with a context of so many tokens: its weights with those of its
// drafter, and the context.
func (m loadable) Bytes(context int) (weights, text int64) {
	drafts := m.wide || m.draftsWide
	weights = m.Weights(m.wide) + m.drafterWeights()
	text = m.SequenceBytes(context, m.wide) + m.drafter.SequenceBytes(context, drafts)
	if m.restored {
		text += m.drafter.SequenceBytes(context, drafts) // of its layers as a plain stack, at most
	}
	return weights, text
}

// formSetting returns what the next load of a model with settings of its own does. A flag or the
// environment wins over these.
func (s *sizer) formSetting(own control.ModelSettings) formSetting {
	now := s.settings.Current()
	set := formSetting{dtype: models.DtypePolicy(now.Dtype), kvBits: now.KVBits,
		layout: s.opts.KVLayout}
	if _, given := s.settings.Given("kv_bits"); !given && own.KVBits != nil {
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

// learned returns the form of keys and values as what is learned about drafting tells it apart, empty
// for the usual one. r may be nil.
func (f formSetting) learned(r *Restoration) string {
	var bits, layout, restored string
	if f.kvBits > 0 {
		bits = fmt.Sprintf("kv %d", f.kvBits)
	}
	if f.layout == control.KVFull {
		layout = "full"
	}
	if r != nil {
		restored = r.Layout + " " + r.Key
	}
	return drafters.JoinWords(bits, layout, restored)
}
