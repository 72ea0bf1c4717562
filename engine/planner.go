package engine

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"tandem/engine/draft"
)

// A planner chooses what drafts in the next round, and how much. It learns from what rounds cost and
// how many drafts were accepted. It belongs to the scheduler's goroutine.
type planner struct {
	drafters *drafters
	model    string // Options.Name
	log      *slog.Logger

	arms     []draft.Arm                    // the drafters, in their order
	selector *draft.Selector                // of requests decoded as most are
	others   map[decodeMode]*draft.Selector // of others; what they learn is not stored
	batch    batchPolicy
}

func newPlanner(ds *drafters, o Options) *planner {
	p := &planner{drafters: ds, model: o.Name, log: o.Logger,
		others: map[decodeMode]*draft.Selector{}}
	for _, d := range ds.list {
		_, perRequest := d.(draft.Prediction)
		p.arms = append(p.arms, draft.Arm{Name: d.Name(), Limit: d.MaxDrafts(), PerRequest: perRequest})
	}
	p.selector = draft.NewSelector(o.Name, p.arms, o.Policies)
	return p
}

// save stores what was learned of drafting.
func (p *planner) save() {
	if err := p.selector.Save(); err != nil {
		p.log.Warn("keeping what was learned of drafting", "error", err)
	}
}

// begin prepares for the rounds of a task whose drafts were opened.
func (p *planner) begin(t *task) {
	selector := p.selectorFor(t)
	t.acceptance = selector.NewRecentAcceptance()
	for i, d := range p.drafters.list {
		if _, predicts := d.(draft.Prediction); predicts && t.drafts[i] != nil {
			selector.Renew(i)
		}
	}
}

// plan chooses the next round of every task that decodes: how many tokens it drafts, 0 for
// a plain step, and which drafter proposes them. sole says that there is one request and no
// encode request; alone, that no other engine of the thread has work either.
func (p *planner) plan(active []*task, sole, alone bool) {
	if sole {
		clear(p.batch.costs) // other requests, other lengths
	}
	sharing := 0 // tasks whose plain steps are shared
	var bids []bid
	for _, t := range active {
		if !t.decoding() {
			continue
		}
		if t.sharesSteps() {
			sharing++
		}
		if o, ok := p.chooseRound(t, alone); ok {
			bids = append(bids, bid{t, o})
		}
	}
	if sole { // its steps are its own; another engine has work
		for _, b := range bids {
			if b.BeatsPlain {
				b.task.choice = b.Choice
			}
		}
		return
	}
	for _, b := range p.batch.choose(bids, sharing) {
		b.task.choice = b.Choice
	}
}

// chooseRound chooses the next round of a task that is alone, or whose depth the request fixes.
// For a task among others it returns the round with drafts that it could have; plan then
// decides.
func (p *planner) chooseRound(t *task, alone bool) (o draft.Offer, ok bool) {
	t.choice, t.candidates = draft.Choice{Arm: -1}, nil
	if !t.drafting() {
		return o, false
	}
	asked := -1 // a draft
	defer func() {
		if v := recover(); v != nil {
			t.choice, o, ok = draft.Choice{Arm: -1}, draft.Offer{}, false
			p.log.Error("panic while choosing how to draft", "panic", v, "stack",
				string(debug.Stack()))
			p.drafters.dropPanicked(t, asked, fmt.Errorf("%v", v))
		}
	}()
	candidates := make([]draft.Candidate, len(t.drafts))
	for i := range t.drafts {
		asked = i
		candidates[i] = p.candidate(t, i)
	}
	t.candidates = candidates
	asked = -1
	r := t.req.Speculation
	if t.adaptive() {
		var err error
		if alone {
			t.choice, err = p.selectorFor(t).Next(t.acceptance, t.tokens, candidates)
		} else {
			o, ok, err = p.selectorFor(t).ChooseShared(t.acceptance, t.tokens, candidates)
		}
		if err != nil {
			p.log.Warn("choosing how to draft", "error", err)
		}
		return o, ok
	}
	for i, offered := range candidates {
		if n := offered.Limit; n > 0 {
			if r.Depth != nil {
				n = min(n, *r.Depth)
			}
			t.choice = draft.Choice{Arm: i, Depth: n}
			return o, false
		}
	}
	return o, false
}

// candidate returns what the i-th draft of the task could propose now.
func (p *planner) candidate(t *task, i int) (has draft.Candidate) {
	d, drafter := t.drafts[i], p.drafters.list[i]
	if d == nil || !t.wants(drafter) {
		return has
	}
	// The last allowed token is the target's own.
	n := min(drafter.MaxDrafts(), t.maxRows()-1, t.limit-t.generated()-1)
	if peeker, ok := d.(draft.Peeker); ok && n > 0 {
		n = min(n, peeker.Peek(t.tokens, n))
	}
	if has.Limit = max(n, 0); has.Limit == 0 {
		return has
	}
	if f, ok := d.(draft.Featured); ok {
		has.Features = f.Features(t.tokens)
	}
	if g, ok := d.(draft.Previewer); ok {
		has.Preview = g.Preview(t.tokens, n)
	}
	return has
}

// learns reports whether the planner learns from the rounds of the task: nothing else runs beside it,
// and the request leaves the depth to the planner.
func (t *task) learns(alone bool) bool {
	return alone && t.adaptive() && t.drafting()
}

// learn takes in what a round cost, where the planner learns.
func (p *planner) learn(t *task, alone bool, r draft.Round) {
	if !t.learns(alone) {
		return
	}
	if r.Depth == 0 {
		p.selectorFor(t).Plain(t.choice, r.Cost)
	} else {
		p.selectorFor(t).Round(t.choice, r)
	}
}

// learnStep takes in what a plain step of n tasks cost.
func (p *planner) learnStep(n int, cost time.Duration) { p.batch.measured(n, cost) }

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
func (p *planner) selectorFor(t *task) *draft.Selector {
	m := t.mode()
	if m == (decodeMode{}) {
		return p.selector
	}
	if p.others[m] == nil {
		p.others[m] = draft.NewSelector(p.model, p.arms, nil)
	}
	return p.others[m]
}
