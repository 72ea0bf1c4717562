package eviction

import (
	"cmp"
	"fmt"
	"sort"

	"tandem/app/control"
)

// Lengths in tokens. A context that does not fit is cut, unless a person set its length: to a
// multiple of contextStep, and to shortContext at least. Beside a whole context there is memory
// left for sequences of ShortRequest, see engine.Options.Short.
const (
	ShortRequest = 4096
	shortContext = 4096
	contextStep  = 1024
)

// agentContext is a context, in tokens, with which an agent can work. Where a person set no
// context:
//
//   - no idle model is evicted so that another gets a longer context, except for the current model;
//   - a context that must be cut and stays longer leaves 1/neighbourPart of the memory to another
//     model.
const (
	agentContext  = 32 << 10
	neighbourPart = 8
)

// A Need is the memory that a model takes once it is loaded and its context is full.
type Need struct {
	Weights int64 // bytes, with those of its drafter
	Cache   int64 // bytes of the caches of a whole context, likewise
	Context int   // tokens; 0 = the model's
	Format  int   // index in Size.Formats
}

// Bytes returns the sum.
func (n Need) Bytes() int64 { return n.Weights + n.Cache }

// String returns the need for an error.
func (n Need) String() string {
	return fmt.Sprintf("%s (weights %s, context of %s tokens %s)", control.GiB.Of(n.Bytes()),
		control.GiB.Of(n.Weights), control.Grouped(n.Context), control.GiB.Of(n.Cache))
}

// A Size is what is known of the memory of a model that is to be loaded.
type Size struct {
	Context int // tokens that the model can take; 0 = not known
	Asked   int // tokens that a person set; 0 = as many as there is memory for

	// Formats are the formats in which its weights may be held, the preferred one first. The last one
	// takes the least memory.
	Formats []Format
}

// A Format is one way to hold a model's weights: Bytes returns what the model takes in it with a context
// of so many tokens.
type Format interface {
	Bytes(context int) (weights, cache int64)
}

// need returns what the model takes in a format with a context of so many tokens.
func (z Size) need(format, context int) Need {
	weights, cache := z.Formats[format].Bytes(context)
	return Need{Weights: weights, Cache: cache, Context: context, Format: format}
}

// Fit returns what a model takes with the context that was asked for. If none was, it takes the
// longest context that room allows. ok says whether the model fits.
//
// A preferred format is taken where it fits. It may not cost a context with which an agent can work.
func (z Size) Fit(room int64) (n Need, ok bool) {
	last := len(z.Formats) - 1
	n, ok = z.fitAs(last, room)
	if !ok {
		return n, false
	}
	for format := range last {
		wide, fits := z.fitAs(format, room)
		if fits && (z.Asked > 0 || wide.Context >= min(n.Context, agentContext)) {
			return wide, true
		}
	}
	return n, true
}

// Longest returns the longest context that a person could set where models have that room, in tokens:
// the model's own, as far as it fits.
func (z Size) Longest(room int64) int {
	return sort.Search(z.Context,
		func(n int) bool { return z.need(len(z.Formats)-1, n+1).Bytes() > room })
}

// Least returns the least bytes that the model can be loaded with: with the context that was asked
// for, else with a short one.
func (z Size) Least() int64 {
	return z.need(len(z.Formats)-1, cmp.Or(z.Asked, min(z.Context, shortContext))).Bytes()
}

// fitAs is Fit for one format.
func (z Size) fitAs(format int, room int64) (n Need, ok bool) {
	whole := z.Context
	if z.Asked > 0 {
		whole = min(z.Asked, cmp.Or(whole, z.Asked))
	}
	if n = z.need(format, whole); n.Bytes() <= room || z.Asked > 0 {
		return n, n.Bytes() <= room
	}
	shortest := min(whole, shortContext)
	// longest returns the longest context, shortest at least, that fits beside so many bytes.
	longest := func(beside int64) int {
		n := sort.Search(whole/contextStep+1,
			func(n int) bool { return z.need(format, n*contextStep).Bytes()+beside > room }) - 1
		return max(shortest, n*contextStep)
	}
	short := z.need(format, ShortRequest).Cache
	context := longest(short)
	if context > agentContext { // it leaves memory for a small model
		context = max(agentContext, longest(short+room/neighbourPart))
	}
	n = z.need(format, context)
	return n, n.Bytes() <= room
}

// Alone returns what a model takes if no other is in memory. Error: CodeMemory if it does not fit
// then, together with the need.
func (l Limits) Alone(w Want) (Need, error) {
	n, ok := w.Fit(l.Room())
	if ok || w.Always {
		return n, nil
	}
	return n, l.tooLarge(w, n)
}

// tooLarge says why a model does not fit this machine, with the figures, and what to do.
func (l Limits) tooLarge(w Want, n Need) error {
	beside := ""
	if l.Checkpoints > 0 {
		beside = fmt.Sprintf(", beside %s for checkpoints and %s for remembered texts",
			control.GiB.Of(l.Checkpoints), control.GiB.Of(l.Texts))
	}
	advice := "Choose a smaller model"
	if w.Asked > 0 && n.Cache > 0 && n.Weights < l.Room() {
		advice = "Give it a shorter context, or choose a smaller model"
	}
	if n.Bytes() <= l.besideTexts()-control.MinBudget && l.Checkpoints > control.MinBudget {
		advice += ", or give checkpoints less memory (checkpoint_memory)"
	}
	return control.Plain(control.CodeMemory, fmt.Sprintf(
		"%s needs %s, but models may take only %s of this machine's %s%s. %s.",
		w.ID, n, control.GiB.Of(l.Room()), control.GiB.Of(l.Memory), beside, advice))
}
