package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tandem/engine/draft"
	"tandem/engine/mlx"
	"tandem/engine/texts"
)

// openDrafts begins the drafts of a task. A drafter that fails costs only itself.
func (e *Engine) openDrafts(s *mlx.Scope, t *task) {
	t.drafts = make([]draft.Draft, len(e.opts.Drafters))
	t.course = e.selectorFor(t).NewCourse()
	t.stats.Drafters = make([]DrafterStats, len(e.opts.Drafters))
	for i, d := range e.opts.Drafters {
		t.stats.Drafters[i].Name = d.Name()
	}
	if depth := t.req.Speculation.Depth; t.limit < 2 || depth != nil && *depth == 0 {
		return // the prompt gives the only token, or no round has drafts
	}
	for _, i := range e.openingOrder() {
		d := e.opts.Drafters[i]
		if !e.wanted(t, d) && !e.joins(t) {
			continue
		}
		e.tryDraft(s, t, i, func() (err error) {
			lookups, trained := e.parts(t, d)
			t.drafts[i], err = d.Open(s, draft.Options{
				Prompt:     t.tokens[:t.given],
				From:       t.fed,
				Context:    e.restoreContext(s, t, i),
				Prediction: t.req.Prediction,
				Texts:      t.texts(),
				Sampler:    t.sampler,
				Caches:     e.contextOptions(t.maxPositions()),
				Lookups:    lookups,
				Trained:    trained,
				Target:     t.caches,
			})
			return err
		})
		if _, predicts := d.(draft.Prediction); predicts && t.drafts[i] != nil {
			e.selectorFor(t).Renew(i)
		}
	}
}

// texts returns what the client's earlier requests said, nil if the request may not use it.
func (t *task) texts() *texts.Use {
	if t.req.Fresh {
		return nil
	}
	return t.req.Texts
}

// said returns what the client's memory of texts gets of a task: prompt and answer, or what stands
// before a gap and the answer.
func (t *task) said() texts.Text {
	prompt := len(t.req.Prompt)
	if before := t.req.Before; before != nil {
		return texts.Text{Tokens: slices.Concat(before, t.tokens[prompt:]), Prompt: len(before)}
	}
	return texts.Text{Tokens: t.tokens, Prompt: prompt}
}

// wanted reports whether a task may draft with d. What the client predicts is tried whichever
// drafter it prefers.
func (e *Engine) wanted(t *task, d draft.Drafter) bool {
	_, predicts := d.(draft.Prediction)
	name := cmp.Or(t.req.Speculation.Drafter, Auto)
	return name != None && (name == Auto || name == d.Name() || predicts)
}

// joins reports whether a task names a drafter that goes on from others. These are opened with it.
func (e *Engine) joins(t *task) bool {
	return slices.ContainsFunc(e.opts.Drafters, func(d draft.Drafter) bool {
		_, ok := d.(*draft.Continued)
		return ok && d.Name() == t.req.Speculation.Drafter
	})
}

// openingOrder returns the places of the drafters, each after those whose drafts it goes by.
func (e *Engine) openingOrder() (order []int) {
	var last []int
	for i, d := range e.opts.Drafters {
		switch d.(type) {
		case draft.Memory, *draft.Continued:
			last = append(last, i)
		default:
			order = append(order, i)
		}
	}
	return append(order, last...)
}

// parts returns the drafts of a task that d goes by, none for most drafters. They are open.
func (e *Engine) parts(t *task, d draft.Drafter) (lookups []draft.Lookup, trained draft.Draft) {
	c, continues := d.(*draft.Continued)
	if _, remembers := d.(draft.Memory); !continues && !remembers {
		return nil, nil
	}
	for i, other := range e.opts.Drafters {
		// What comes of a prediction is counted by its own draft.
		_, predicts := other.(draft.Prediction)
		if l, ok := t.drafts[i].(draft.Lookup); ok && !predicts {
			lookups = append(lookups, l)
		}
		if continues && other.Name() == c.Trained().Name() {
			trained = t.drafts[i]
		}
	}
	return lookups, trained
}

// tryDraft runs a step of one of the task's drafts. If it fails or panics, that draft is given up
// and the task goes on without it.
func (e *Engine) tryDraft(s *mlx.Scope, t *task, i int, step func() error) error {
	err := s.Try(step)
	if err != nil {
		e.dropDraft(s, t, i, err)
	}
	return err
}

// dropDraft ends a draft that failed.
func (e *Engine) dropDraft(s *mlx.Scope, t *task, i int, err error) {
	name := e.opts.Drafters[i].Name()
	t.stats.NoDrafter = fmt.Sprintf("%s failed: %v", name, err)
	t.stats.Drafters[i].Failed = err.Error()
	e.opts.Logger.Error("drafting was given up for a request", "drafter", name, "error", err)
	if d := t.drafts[i]; d != nil {
		t.drafts[i] = nil
		t.countPrediction(d)
		d.Free(s)
	}
	e.dropJoined(s, t, i, err)
}

// dropJoined ends what belongs to a draft that failed: a draft that went on from it, or the trained one
// that it let go on, whose state is not known. Their figures have the same reason.
func (e *Engine) dropJoined(s *mlx.Scope, t *task, dropped int, failed error) {
	for i, d := range e.opts.Drafters {
		c, ok := d.(*draft.Continued)
		if !ok {
			continue
		}
		if i != dropped {
			if t.drafts[i] != nil {
				t.drafts[i], t.stats.Drafters[i].Failed = nil, failed.Error()
			}
			continue
		}
		for j, other := range e.opts.Drafters {
			if other.Name() == c.Trained().Name() && t.drafts[j] != nil {
				t.drafts[j].Free(s)
				t.drafts[j], t.stats.Drafters[j].Failed = nil, failed.Error()
			}
		}
	}
}

// dropPanicked gives up the draft that panicked when asked how much it has. If choosing between
// drafts panicked, asked is -1 and all are given up.
func (e *Engine) dropPanicked(t *task, asked int, failed error) {
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
		for i, d := range t.drafts {
			if d != nil && (asked < 0 || asked == i) {
				e.dropDraft(s, t, i, failed)
			}
		}
		return nil
	})
	if err != nil {
		e.opts.Logger.Error("letting go of a draft", "error", err)
	}
}

// catchUpDraft lets one draft that has to catch up read on, beside the plain steps of its task: a
// restored text may be long. It reports whether one did. The next step is then not measured,
// because it had to wait.
func (e *Engine) catchUpDraft(active []*task) bool {
	for _, t := range active {
		for i, d := range t.drafts {
			f, ok := d.(draft.Follower)
			if !ok || !t.decoding() || f.Behind() == 0 {
				continue
			}
			err := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
				return e.tryDraft(s, t, i, func() error {
					f.Follow(s)
					return s.Eval(f.Arrays()...)
				})
			})
			return err == nil
		}
	}
	return false
}

// countPrediction counts what a draft that ends made of the request's prediction.
func (t *task) countPrediction(d draft.Draft) {
	if p, ok := d.(*draft.PredictionDraft); ok {
		accepted, rejected := p.Predicted(t.tokens)
		t.stats.PredictionAccepted += accepted
		t.stats.PredictionRejected += rejected
	}
}

// A committed run is tokens that the target has evaluated and kept, with the outputs of the
// layers that drafts tap.
type committed struct {
	tokens  []int32
	from    int          // position of the first token
	layers  []int        // of outputs
	outputs []*mlx.Array // (rows, H) each
	row     int          // of the first token in outputs
}

// tellDrafts tells the task's drafts of a committed run.
func (e *Engine) tellDrafts(s *mlx.Scope, t *task, c committed) {
	for i, d := range t.drafts {
		if d == nil {
			continue
		}
		taps := e.opts.Drafters[i].Taps()
		e.tryDraft(s, t, i, func() error {
			list := make([]*mlx.Array, len(taps))
			for j, layer := range taps {
				// Each draft gets slices of its own, which it may keep and free: the outputs
				// are the engine's, and another draft may tap the same layer.
				list[j] = s.Slice(c.outputs[slices.Index(c.layers, layer)], 0, c.row,
					c.row+len(c.tokens))
			}
			d.Committed(s, c.tokens, c.from, list)
			return nil
		})
	}
}

// taps lists the layers that some draft of the tasks taps, ascending.
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
