package pool

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"tandem/app/control"
	"tandem/models"
)

// The system and other programs keep 1/systemPart of the machine's memory, systemBytes at least.
const (
	systemPart  = 4
	systemBytes = 2 << 30
)

// Lengths in tokens. A context that does not fit is cut, unless a person set its length: to a
// multiple of contextStep, and to shortContext at least. Beside a whole context there is memory
// left for texts of shortRequest, see engine.Options.Short.
const (
	shortContext = 4096
	contextStep  = 1024
	shortRequest = 4096
)

// roomFor returns how much of a machine's memory models may take, in bytes. If the machine's memory
// is not known, there is no limit.
func roomFor(memory int64) int64 {
	if memory <= 0 {
		return math.MaxInt64
	}
	return max(0, memory-max(memory/systemPart, systemBytes))
}

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

// A demand is the memory that a model takes once it is loaded and its context is full.
type demand struct {
	weights int64 // bytes, with those of its drafter
	text    int64 // bytes of a whole context, likewise
	context int   // tokens; 0 = the model's
	form
}

func (d demand) bytes() int64 { return d.weights + d.text }

// String returns the demand for an error.
func (d demand) String() string {
	return fmt.Sprintf("%s (weights %s, context of %s tokens %s)", control.GiB.Of(d.bytes()),
		control.GiB.Of(d.weights), control.Grouped(d.context), control.GiB.Of(d.text))
}

// A loadable is what fit needs to know about a model.
type loadable struct {
	models.Footprint
	drafter models.Footprint // zero if it has none
	fTheta  int64            // weights of the f_theta; 0 if no layer is bounded
	unpacks bool             // their quantized weights may be held in float32
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

// demand returns what the model takes with a context of so many tokens.
func (m loadable) demand(context int) demand {
	drafts := m.wide || m.draftsWide
	d := demand{
		weights: m.Weights(m.wide) + m.drafterWeights(),
		text:    m.Text(context, m.wide) + m.drafter.Text(context, drafts),
		context: context,
		form:    m.form,
	}
	if m.fTheta > 0 {
		element := int64(2)
		if m.wide {
			element = 4
		}
		d.weights += m.fTheta * element
		d.text += m.drafter.Text(context, drafts) // of its layers as a plain stack, at most
	}
	return d
}

// fit returns what a model takes with the context that was asked for. If none was (0), it takes the
// longest context that room allows. ok says whether the model fits.
//
// Quantized weights are held in float32 where that may be and fits: all of them, else those of the
// drafter alone. It may not cost a context with which an agent can work.
func fit(m loadable, asked int, room int64) (d demand, ok bool) {
	d, ok = fitAs(m, asked, room)
	if !m.unpacks || !ok {
		return d, ok
	}
	for _, all := range []bool{true, false} {
		wide, fits := fitAs(m.as(form{unpacked: all, drafts: true}), asked, room)
		if fits && (asked > 0 || wide.context >= min(d.context, agentContext)) {
			return wide, true
		}
	}
	return d, ok
}

// fitAs is fit for weights in the form that m says.
func fitAs(m loadable, asked int, room int64) (d demand, ok bool) {
	whole := m.ContextLength
	if asked > 0 {
		whole = min(asked, cmp.Or(whole, asked))
	}
	if d = m.demand(whole); d.bytes() <= room || asked > 0 {
		return d, d.bytes() <= room
	}
	least := min(whole, shortContext)
	// longest returns the longest context, the shortest at least, that fits beside so many bytes.
	longest := func(beside int64) int {
		n := sort.Search(whole/contextStep+1,
			func(n int) bool { return m.demand(n*contextStep).bytes()+beside > room }) - 1
		return max(least, n*contextStep)
	}
	short := m.demand(shortRequest).text
	context := longest(short)
	if context > agentContext { // it leaves memory for a small model
		context = max(agentContext, longest(short+room/neighbourPart))
	}
	d = m.demand(context)
	return d, d.bytes() <= room
}
