package engine

import (
	"fmt"
	"runtime/debug"
	"slices"

	"tandem/engine/draft"
)

// plan chooses the next round of every task that decodes: how many tokens it drafts, 0 for
// a plain step, and which drafter proposes them. alone says that there is one request and
// nothing else, on another engine neither.
func (e *Engine) plan(active []*task, alone bool) {
	sharing := 0 // tasks whose plain steps are shared
	var bids []bid
	for _, t := range active {
		if !t.decoding() {
			continue
		}
		if t.sharesSteps() {
			sharing++
		}
		if o, ok := e.chooseRound(t, alone); ok {
			bids = append(bids, bid{t, o})
		}
	}
	if len(active) == 1 && len(e.readers) == 0 { // its steps are its own; another engine has work
		for _, b := range bids {
			if b.Beats {
				b.task.choice = b.Choice
			}
		}
		return
	}
	for _, b := range e.batchPolicy.choose(bids, sharing) {
		b.task.choice = b.Choice
	}
}

// chooseRound chooses the next round of a task that is alone, or whose depth the request fixes.
// For a task among others it returns the round with drafts that it could have; plan then
// decides.
func (e *Engine) chooseRound(t *task, alone bool) (o draft.Offer, ok bool) {
	t.choice, t.prospects = draft.Choice{Arm: -1}, nil
	if !t.drafting() {
		return o, false
	}
	asked := -1 // a draft
	defer func() {
		if v := recover(); v != nil {
			t.choice, o, ok = draft.Choice{Arm: -1}, draft.Offer{}, false
			e.opts.Logger.Error("panic while choosing how to draft", "panic", v, "stack",
				string(debug.Stack()))
			e.dropPanicked(t, asked, fmt.Errorf("%v", v))
		}
	}()
	prospects := make([]draft.Prospect, len(t.drafts))
	for i := range t.drafts {
		asked = i
		prospects[i] = e.prospect(t, i)
	}
	t.prospects = prospects
	asked = -1
	r := t.req.Speculation
	if t.adaptive() {
		var err error
		if alone {
			t.choice, err = e.selectorFor(t).Next(t.course, t.tokens, prospects)
		} else {
			o, ok, err = e.selectorFor(t).Among(t.course, t.tokens, prospects)
		}
		if err != nil {
			e.opts.Logger.Warn("choosing how to draft", "error", err)
		}
		return o, ok
	}
	for i, p := range prospects {
		if n := p.Limit; n > 0 {
			if r.Depth != nil {
				n = min(n, *r.Depth)
			}
			t.choice = draft.Choice{Arm: i, Depth: n}
			return o, false
		}
	}
	return o, false
}

// prospect returns what the i-th draft of the task could propose now.
func (e *Engine) prospect(t *task, i int) (p draft.Prospect) {
	d := t.drafts[i]
	if d == nil || !e.wanted(t, e.opts.Drafters[i]) {
		return p
	}
	// The last allowed token is the target's own.
	n := min(e.opts.Drafters[i].MaxDrafts(), t.maxRows()-1, t.limit-t.generated()-1)
	if peeker, ok := d.(draft.Peeker); ok && n > 0 {
		n = min(n, peeker.Peek(t.tokens, n))
	}
	if p.Limit = max(n, 0); p.Limit == 0 {
		return p
	}
	if f, ok := d.(draft.Featured); ok {
		p.Features = f.Features(t.tokens)
	}
	if g, ok := d.(draft.Guesser); ok {
		p.Guess = g.Guess(t.tokens, n)
	}
	return p
}

// learns reports whether the engine learns from the rounds of a task: nothing else runs beside it, and
// the engine chooses the depth.
func (t *task) learns(alone bool) bool {
	return alone && t.adaptive() && t.drafting()
}

// learn takes in what a round cost, where the engine learns.
func (e *Engine) learn(t *task, alone bool, r draft.Round) {
	if !t.learns(alone) {
		return
	}
	if r.Depth == 0 {
		e.selectorFor(t).Plain(t.choice, r.Cost)
	} else {
		e.selectorFor(t).Round(t.choice, r)
	}
}

// A decodeMode is what makes rounds of equal depth cost or gain differently. The zero value is a
// request that asks for nothing special.
type decodeMode struct{ undo, rejection, fused, timed, grammar bool }

func (t *task) mode() decodeMode {
	r := t.req.Speculation
	return decodeMode{
		undo:      r.Rollback == Undo,
		rejection: r.Rule == Rejection && t.req.Sampling.Temperature > 0,
		fused:     r.Fused,
		timed:     r.Timed,
		grammar:   t.req.Grammar != nil,
	}
}

// selectorFor returns the selector of drafters and depths for a task.
func (e *Engine) selectorFor(t *task) *draft.Selector {
	m := t.mode()
	if m == (decodeMode{}) {
		return e.selector
	}
	if e.otherSelectors[m] == nil {
		e.otherSelectors[m] = draft.NewSelector(e.opts.Name, e.arms, nil)
	}
	return e.otherSelectors[m]
}

// Reasons for an answer without drafts that nobody can change: drafts would not have made it faster,
// or there were none.
const (
	PlainFaster  = "plain decoding was chosen: it was the faster one, by what rounds cost and how many guesses were accepted"
	PlainNoGuess = "no drafter had anything to propose"
)

// whyPlain says why no round of a task that ends had drafts.
func (e *Engine) whyPlain(t *task) string {
	r := t.req.Speculation
	switch {
	case r.Drafter == None || r.Depth != nil && *r.Depth == 0:
		return "speculation is off for this request"
	case len(e.opts.Drafters) == 0:
		return "the model has no drafter"
	case t.generated() < 2:
		return "" // the first token is the prompt's
	case slices.ContainsFunc(t.stats.Drafters, func(d DrafterStats) bool { return d.Slower > 0 }):
		return PlainFaster
	}
	return PlainNoGuess
}
