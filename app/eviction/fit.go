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

	// Bytes returns the memory of the weights and of the caches for a context, in tokens.
	Bytes func(context int) (weights, cache int64)
}

// need returns the memory that the model needs for a context, in tokens.
func (z Size) need(context int) Need {
	weights, cache := z.Bytes(context)
	return Need{Weights: weights, Cache: cache, Context: context}
}

// Fit returns what a model takes with the context that was asked for. If none was, it takes the
// longest context that room allows. ok says whether the model fits.
func (z Size) Fit(room int64) (n Need, ok bool) {
	whole := z.Context
	if z.Asked > 0 {
		whole = min(z.Asked, cmp.Or(whole, z.Asked))
	}
	if n = z.need(whole); n.Bytes() <= room || z.Asked > 0 {
		return n, n.Bytes() <= room
	}
	shortest := min(whole, shortContext)
	// longest returns the longest context, shortest at least, that fits beside so many bytes.
	longest := func(beside int64) int {
		n := sort.Search(whole/contextStep+1,
			func(n int) bool { return z.need(n*contextStep).Bytes()+beside > room }) - 1
		return max(shortest, n*contextStep)
	}
	short := z.need(ShortRequest).Cache
	context := longest(short)
	if context > agentContext { // it leaves memory for a small model
		context = max(agentContext, longest(short+room/neighbourPart))
	}
	n = z.need(context)
	return n, n.Bytes() <= room
}

// Longest returns the longest context that a person could set where models have that room, in tokens:
// the model's own, as far as it fits.
func (z Size) Longest(room int64) int {
	return sort.Search(z.Context, func(n int) bool { return z.need(n+1).Bytes() > room })
}

// Least returns the least bytes that the model can be loaded with: with the context that was asked
// for, else with a short one.
func (z Size) Least() int64 {
	return z.need(cmp.Or(z.Asked, min(z.Context, shortContext))).Bytes()
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
