package pool

import (
	"fmt"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/eviction"
	"tandem/models"
)

// A formatSetting is what the settings say about the format of a model.
type formatSetting struct {
	dtype  models.DtypePolicy
	kvBits int    // of an element in the caches of the model, see engine.Options
	layout string // control.KVRing or control.KVFull; empty = ring

	// Of the drafter; 0 = as it is.
	draftWindow int // rows of context, see models.DrafterSettings
	drafterBits int // see models.Options
}

// bits returns what a model's own settings say about the format.
func (f formatSetting) bits() [3]int { return [3]int{f.kvBits, f.draftWindow, f.drafterBits} }

// of returns the setting for a model of a kind. Models of vectors and scores keep
// whole keys and values. So new vectors agree with those that a program has kept.
func (f formatSetting) of(k models.Kind) formatSetting {
	if k != models.KindText {
		f.kvBits = 0
	}
	return f
}

// A format says how a model is held in memory, and in which type it computes. It is chosen at the load.
type format struct {
	formatSetting
	wide        bool // the model and its drafter compute in float32
	drafterWide bool // the drafter alone does
}

// options returns what the load of a model needs to know about the format.
func (f format) options() models.Options {
	return models.Options{Dtype: f.policy(f.wide)}
}

// drafterOptions returns what the load of its drafter needs to know.
func (f format) drafterOptions() models.Options {
	return models.Options{Dtype: f.policy(f.wide || f.drafterWide), Bits: f.drafterBits}
}

// policy returns the type of a load. wide: it is float32.
func (f format) policy(wide bool) models.DtypePolicy {
	if wide {
		return models.DtypeFloat32
	}
	return f.dtype
}

// A loadable is what is known of a model's memory in a format.
type loadable struct {
	models.Footprint
	drafter  models.Footprint // zero if it has none
	restored bool             // rows are restored from the drafter's layers
	format                    // that they are held in
}

// drafterWeights returns the bytes of its drafter's weights, with the rows that it copies of the
// model's head.
func (m loadable) drafterWeights() int64 {
	return m.drafter.CutFrom(m.Footprint, m.wide).Weights(m.wide || m.drafterWide)
}

// Bytes returns what the model takes with a context of so many tokens: its weights with those of its
// drafter, and the context.
func (m loadable) Bytes(context int) (weights, cache int64) {
	drafts := m.wide || m.drafterWide
	weights = m.Weights(m.wide) + m.drafterWeights()
	cache = m.SequenceBytes(context, m.wide) + m.drafter.SequenceBytes(context, drafts)
	if m.restored {
		cache += m.drafter.SequenceBytes(context, drafts) // of its layers as a plain stack, at most
	}
	return weights, cache
}

// learned returns the format of keys and values as what is learned about drafting tells it apart, empty
// for the usual one. r may be nil.
func (f formatSetting) learned(r *Restoration) string {
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

// size returns m as plans take it. asked is the context that a person set, or 0.
func (m loadable) size(asked int) eviction.Size {
	return eviction.Size{Context: m.ContextLength, Asked: asked, Bytes: m.Bytes}
}
