package engine

import (
	"fmt"
	"slices"

	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// open begins the draft of a task, if it is to have one. A drafter that fails
// costs nothing but itself.
func (e *Engine) open(s *mlx.Scope, t *task) {
	t.drafter = e.drafter(t.req.Speculation)
	if t.drafter == nil || t.limit < 2 {
		return
	}
	e.guard(s, t, func() (err error) {
		t.draft, err = t.drafter.Open(s, draft.Options{
			Prompt: t.req.Prompt, Prediction: t.req.Prediction, Sampler: t.sampler, Caches: e.caches(),
		})
		return err
	})
	if t.draft != nil {
		t.stats.Drafter = t.drafter.Name()
	}
}

// guard runs a step of the task's draft. If it fails or panics the draft is
// given up, and the task decodes plainly from here on.
func (e *Engine) guard(s *mlx.Scope, t *task, step func() error) error {
	err := s.Try(step)
	if err == nil {
		return nil
	}
	t.stats.NoDrafter = fmt.Sprintf("%s failed: %v", t.drafter.Name(), err)
	e.opts.Logger.Error("drafting was given up for a request", "drafter", t.drafter.Name(), "error", err)
	if t.draft != nil {
		t.draft.Free(s)
		t.draft = nil
	}
	return err
}

// committed tells the draft of tokens from position from on, and of the
// outputs of the layers it taps.
func (e *Engine) committed(s *mlx.Scope, t *task, tokens []int32, from int, taps []*mlx.Array) {
	if t.draft == nil || len(taps) == 0 {
		return
	}
	e.guard(s, t, func() error {
		t.draft.Committed(s, tokens, from, taps)
		return nil
	})
}

// tapsOf lists the layers that some of the tasks' drafts want, ascending.
func tapsOf(tasks []*task) []int {
	var taps []int
	for _, t := range tasks {
		taps = append(taps, t.taps()...)
	}
	slices.Sort(taps)
	return slices.Compact(taps)
}

// pick returns rows [from, to) of the outputs the task's draft wants, out of
// those of the given layers.
func (t *task) pick(s *mlx.Scope, layers []int, outputs []*mlx.Array, from, to int) []*mlx.Array {
	var list []*mlx.Array
	for _, layer := range t.taps() {
		list = append(list, rows(s, outputs[slices.Index(layers, layer)], from, to))
	}
	return list
}

// rows returns rows [from, to) of x.
func rows(s *mlx.Scope, x *mlx.Array, from, to int) *mlx.Array {
	if from == 0 && to == x.Dim(0) {
		return x
	}
	return s.Slice(x, 0, from, to)
}

// plan returns how many tokens the next round drafts.
func (t *task) plan() int {
	switch {
	case t.draft == nil:
		return 0
	case t.req.Speculation.Depth != nil:
		return min(*t.req.Speculation.Depth, t.drafter.MaxDrafts())
	}
	return min(7, t.drafter.MaxDrafts())
}
