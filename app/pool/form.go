package pool

import (
	"tandem/app/control"
	"tandem/models"
)

// A formSetting is what the settings say about the form of a model.
type formSetting struct {
	dtype  models.DtypePolicy
	kvBits int    // of an element in the caches of the model, see engine.Options
	layout string // one of control.KVLayouts

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

// bounds reports whether layers of a model of a kind are bounded.
func (f formSetting) bounds(k models.Kind) bool {
	return f.layout == control.KVBounded && k == models.KindText
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
	return models.Options{Dtype: f.policy(f.wide), Unpack: f.unpacked}
}

// drafterOptions returns what the load of its drafter needs to know.
func (f form) drafterOptions() models.Options {
	return models.Options{Dtype: f.policy(f.wide || f.draftsWide),
		Unpack: f.drafts && f.drafterBits == 0, Bits: f.drafterBits}
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
	drafter models.Footprint // zero if it has none
	fTheta  int64            // weights of the f_theta; 0 if no layer is bounded
	unpacks bool             // their quantized weights may be held in float32 too
	form                     // that they are held in
}

// as returns m with quantized weights held as in a form.
func (m loadable) as(f form) loadable {
	if f.unpacked {
		m.Footprint = m.Footprint.Unpacked()
	}
	if f.drafts && m.drafterBits == 0 { // else a person wants it packed
		m.drafter = m.drafter.Unpacked()
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
	text = m.Text(context, m.wide) + m.drafter.Text(context, drafts)
	if m.fTheta > 0 {
		element := int64(2)
		if m.wide {
			element = 4
		}
		weights += m.fTheta * element
		text += m.drafter.Text(context, drafts) // of its layers as a plain stack, at most
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
