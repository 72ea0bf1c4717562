package plan

import (
	"cmp"
	"fmt"
	"sort"

	"tandem/app/control"
)

// Lengths in tokens. A context that does not fit is cut, unless a person set its length: to a
// multiple of contextStep, and to shortContext at least. Beside a whole context there is memory
// left for texts of ShortRequest, see engine.Options.Short.
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
	Text    int64 // bytes of a whole context, likewise
	Context int   // tokens; 0 = the model's
	Form    int   // index in Size.Forms
}

// Bytes returns the sum.
func (n Need) Bytes() int64 { return n.Weights + n.Text }

// String returns the need for an error.
func (n Need) String() string {
	return fmt.Sprintf("%s (weights %s, context of %s tokens %s)", control.GiB.Of(n.Bytes()),
		control.GiB.Of(n.Weights), control.Grouped(n.Context), control.GiB.Of(n.Text))
}

// A Size is what is known of the memory of a model that is to be loaded.
type Size struct {
	Context int // tokens that the model can take; 0 = not known
	Asked   int // tokens that a person set; 0 = as many as there is memory for

	// Forms are the forms in which its weights may be held, the preferred one first. The last one
	// takes the least memory.
	Forms []Form
}

// A Form is one way to hold a model's weights: Bytes returns what the model takes in it with a context
// of so many tokens.
type Form interface {
	Bytes(context int) (weights, text int64)
}

// need returns what the model takes in a form with a context of so many tokens.
func (z Size) need(form, context int) Need {
	weights, text := z.Forms[form].Bytes(context)
	return Need{Weights: weights, Text: text, Context: context, Form: form}
}

// Fit returns what a model takes with the context that was asked for. If none was, it takes the
// longest context that room allows. ok says whether the model fits.
//
// A preferred form is taken where it fits. It may not cost a context with which an agent can work.
func (z Size) Fit(room int64) (n Need, ok bool) {
	least := len(z.Forms) - 1
	n, ok = z.fitAs(least, room)
	if !ok {
		return n, false
	}
	for form := range least {
		wide, fits := z.fitAs(form, room)
		if fits && (z.Asked > 0 || wide.Context >= min(n.Context, agentContext)) {
			return wide, true
		}
	}
	return n, true
}

// fitAs is Fit for one form.
func (z Size) fitAs(form int, room int64) (n Need, ok bool) {
	whole := z.Context
	if z.Asked > 0 {
		whole = min(z.Asked, cmp.Or(whole, z.Asked))
	}
	if n = z.need(form, whole); n.Bytes() <= room || z.Asked > 0 {
		return n, n.Bytes() <= room
	}
	least := min(whole, shortContext)
	// longest returns the longest context, the shortest at least, that fits beside so many bytes.
	longest := func(beside int64) int {
		n := sort.Search(whole/contextStep+1,
			func(n int) bool { return z.need(form, n*contextStep).Bytes()+beside > room }) - 1
		return max(least, n*contextStep)
	}
	short := z.need(form, ShortRequest).Text
	context := longest(short)
	if context > agentContext { // it leaves memory for a small model
		context = max(agentContext, longest(short+room/neighbourPart))
	}
	n = z.need(form, context)
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
	if w.Asked > 0 && n.Text > 0 && n.Weights < l.Room() {
		advice = "Give it a shorter context, or choose a smaller model"
	}
	if n.Bytes() <= l.besideTexts()-control.LeastBudget && l.Checkpoints > control.LeastBudget {
		advice += ", or give checkpoints less memory (checkpoint_memory)"
	}
	return control.Plain(control.CodeMemory, fmt.Sprintf(
		"%s needs %s, but models may take only %s of this machine's %s%s. %s.",
		w.ID, n, control.GiB.Of(l.Room()), control.GiB.Of(l.Memory), beside, advice))
}
