package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// open begins the drafts of a task. A drafter that fails costs nothing but
// itself.
func (e *Engine) open(s *mlx.Scope, t *task) {
	t.drafts = make([]draft.Draft, len(e.opts.Drafters))
	if depth := t.req.Speculation.Depth; t.limit < 2 || depth != nil && *depth == 0 {
		return // the prompt gives the first token, or nobody will ask
	}
	for i, d := range e.opts.Drafters {
		// What the client predicts is tried whichever drafter it prefers.
		_, predicts := d.(draft.Prediction)
		if name := cmp.Or(t.req.Speculation.Drafter, Auto); name == None || name != Auto && name != d.Name() && !predicts {
			continue
		}
		e.guard(s, t, i, func() (err error) {
			o := draft.Options{Prompt: t.tokens[:t.given], From: t.fed, Prediction: t.req.Prediction, Sampler: t.sampler, Caches: e.caches(t.most())}
			o.Context = e.recallContext(s, t, i)
			t.drafts[i], err = d.Open(s, o)
			return err
		})
		if predicts && t.drafts[i] != nil {
			e.selects(t).Renew(i)
		}
	}
}

// guard runs a step of one of the task's drafts. If it fails or panics that
// draft is given up, and the task decodes without it from here on.
func (e *Engine) guard(s *mlx.Scope, t *task, i int, step func() error) error {
	err := s.Try(step)
	if err != nil {
		e.giveUp(s, t, i, err)
	}
	return err
}

// giveUp ends a draft that failed.
func (e *Engine) giveUp(s *mlx.Scope, t *task, i int, err error) {
	name := e.opts.Drafters[i].Name()
	t.stats.NoDrafter = fmt.Sprintf("%s failed: %v", name, err)
	e.opts.Logger.Error("drafting was given up for a request", "drafter", name, "error", err)
	if d := t.drafts[i]; d != nil {
		t.drafts[i] = nil
		t.foretold(d)
		d.Free(s)
	}
}

// unplannable gives up the draft that panicked when it was asked how much it has,
// or all drafts if it was the choice between them that did.
func (e *Engine) unplannable(t *task, asked int, failed error) {
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
		for i, d := range t.drafts {
			if d != nil && (asked < 0 || asked == i) {
				e.giveUp(s, t, i, failed)
			}
		}
		return nil
	})
	if err != nil {
		e.opts.Logger.Error("letting go of a draft", "error", err)
	}
}

// follow has one draft that is behind read on, beside the plain steps of its task:
// what was restored may be long. It reports whether one did, for then the next step
// is not measured: it had this to wait for.
func (e *Engine) follow(active []*task) bool {
	for _, t := range active {
		for i, d := range t.drafts {
			f, ok := d.(draft.Follower)
			if !ok || !t.decoding() || f.Behind() == 0 {
				continue
			}
			err := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
				return e.guard(s, t, i, func() error {
					f.Follow(s)
					return s.Eval(f.Arrays()...)
				})
			})
			return err == nil
		}
	}
	return false
}

// foretold counts what a draft that ends made of the request's prediction.
func (t *task) foretold(d draft.Draft) {
	if p, ok := d.(*draft.PredictionDraft); ok {
		accepted, rejected := p.Predicted(t.tokens)
		t.stats.PredictionAccepted += accepted
		t.stats.PredictionRejected += rejected
	}
}

// plainly says why no round of a task that ends had drafts.
func (e *Engine) plainly(t *task) string {
	r := t.req.Speculation
	switch {
	case r.Drafter == None || r.Depth != nil && *r.Depth == 0:
		return "speculation is off for this request"
	case len(e.opts.Drafters) == 0:
		return "the model has no drafter"
	case t.generated() < 2:
		return "" // the first token is the prompt's
	case t.offered && r.Depth == nil:
		return "plain decoding was chosen: it was the faster one, by what rounds cost and how many guesses were accepted"
	}
	return "no drafter had anything to propose"
}

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
		if t.shares() {
			sharing++
		}
		if o, ok := e.offer(t, alone); ok {
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

// offer chooses the next round of a task that is alone, or whose depth the request fixes.
// For a task among others it returns the round with drafts that it could have; plan then
// decides.
func (e *Engine) offer(t *task, alone bool) (o draft.Offer, ok bool) {
	t.choice = draft.Choice{Arm: -1}
	if !t.drafting() {
		return o, false
	}
	asked := -1 // a draft
	defer func() {
		if v := recover(); v != nil {
			t.choice, o, ok = draft.Choice{Arm: -1}, draft.Offer{}, false
			e.opts.Logger.Error("panic while choosing how to draft", "panic", v, "stack", string(debug.Stack()))
			e.unplannable(t, asked, fmt.Errorf("%v", v))
		}
	}()
	limits := make([]int, len(t.drafts))
	for i := range t.drafts {
		asked = i
		limits[i] = e.room(t, i)
		t.offered = t.offered || limits[i] > 0
	}
	asked = -1
	r := t.req.Speculation
	if r.Depth == nil && !r.Exact {
		var err error
		if alone {
			t.choice, err = e.selects(t).Next(len(t.tokens), limits)
		} else {
			o, ok, err = e.selects(t).Among(len(t.tokens), limits)
		}
		if err != nil {
			e.opts.Logger.Warn("choosing how to draft", "error", err)
		}
		return o, ok
	}
	for i, n := range limits {
		if n > 0 {
			if r.Depth != nil {
				n = min(n, *r.Depth)
			}
			t.choice = draft.Choice{Arm: i, Depth: n}
			return o, false
		}
	}
	return o, false
}

// room returns how many tokens a draft of the task could propose now.
func (e *Engine) room(t *task, i int) int {
	if t.drafts[i] == nil {
		return 0
	}
	// The last allowed token is the target's own.
	n := min(e.opts.Drafters[i].MaxDrafts(), t.maxRows()-1, t.limit-t.generated()-1)
	if p, ok := t.drafts[i].(draft.Peeker); ok && n > 0 {
		n = min(n, p.Peek(t.tokens, n))
	}
	return max(n, 0)
}

// learn takes what a round cost into account, if nothing else ran beside it
// and the depth was chosen by what is known.
func (e *Engine) learn(t *task, alone bool, r draft.Round) {
	if chosen := t.req.Speculation; !alone || chosen.Depth != nil || chosen.Exact || !t.drafting() {
		return
	}
	if r.Depth == 0 {
		e.selects(t).Plain(t.choice, r.Cost)
	} else {
		e.selects(t).Round(t.choice, r)
	}
}

// A manner is what makes rounds of the same depth cost or gain otherwise. The
// zero value is how requests are decoded that ask for nothing.
type manner struct{ undo, rejection, fused, timed, grammar bool }

func (t *task) manner() manner {
	r := t.req.Speculation
	return manner{r.Rollback == Undo, r.Rule == Rejection && t.req.Sampling.Temperature > 0, r.Fused, r.Timed, t.req.Grammar != nil}
}

// selects returns what chooses drafters and depths for a task.
func (e *Engine) selects(t *task) *draft.Selector {
	m := t.manner()
	if m == (manner{}) {
		return e.selector
	}
	if e.others[m] == nil {
		e.others[m] = draft.NewSelector(e.opts.Name, e.arms, nil)
	}
	return e.others[m]
}

// committed tells the drafts of tokens from position from on, and of the
// outputs of the layers they tap, if any: outputs are those of layers, of whose
// rows [first, first+len(tokens)) belong to the tokens.
func (e *Engine) committed(s *mlx.Scope, t *task, tokens []int32, from int, layers []int, outputs []*mlx.Array, first int) {
	for i, d := range t.drafts {
		if d == nil {
			continue
		}
		taps := e.opts.Drafters[i].Taps()
		e.guard(s, t, i, func() error {
			list := make([]*mlx.Array, len(taps))
			for j, layer := range taps {
				// One of each draft's own, which it may keep and free: the outputs
				// are the engine's, and may be another draft's too.
				list[j] = s.Slice(outputs[slices.Index(layers, layer)], 0, first, first+len(tokens))
			}
			d.Committed(s, tokens, from, list)
			return nil
		})
	}
}

// taps lists the layers that some of the tasks' drafts want, ascending.
func (e *Engine) taps(tasks ...*task) []int {
	var taps []int
	for _, t := range tasks {
		for i, d := range t.drafts {
			if d != nil {
				taps = append(taps, e.opts.Drafters[i].Taps()...)
			}
		}
	}
	slices.Sort(taps)
	return slices.Compact(taps)
}

// rows returns rows [from, to) of x.
func rows(s *mlx.Scope, x *mlx.Array, from, to int) *mlx.Array {
	if from == 0 && to == x.Dim(0) {
		return x
	}
	return s.Slice(x, 0, from, to)
}
