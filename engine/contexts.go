package engine

import (
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// contexts names the drafter whose contexts are kept beside the target's state. It is one of an
// engine: a served model has one drafter with weights. The drafts of another Keeper begin where the
// target was restored. They guess less from there, and lose nothing else.
type contexts struct {
	draft.Keeper // nil if of none
	index        int
	like         cache.Stack // what of one is kept, empty
}

// find chooses the first drafter with a context that can be kept.
func (c *contexts) find(drafters []draft.Drafter, o cache.Options) {
	*c = contexts{}
	for i, d := range drafters {
		k, ok := d.(draft.Keeper)
		if !ok {
			continue
		}
		if like := k.NewContext(o).Rewindable(); len(like) > 0 {
			*c = contexts{k, i, like}
			return
		}
	}
}

// keptContext returns what a task's draft has of positions [from, to): one snapshot for each cache
// of a context, nil where there is none. A drafter that is read another way by now may have other
// caches. Its contexts are not kept until the engine is opened again.
func (e *Engine) keptContext(s *mlx.Scope, t *task, from, to int) []*cache.Snapshot {
	c := &e.contexts
	none := make([]*cache.Snapshot, len(c.like))
	if c.Keeper == nil || t.drafts == nil || t.drafts[c.index] == nil {
		return none
	}
	var kept []*cache.Snapshot
	e.tryDraft(s, t, c.index, func() (err error) {
		kept, err = t.drafts[c.index].(draft.Kept).Keep(s, from, to)
		return err
	})
	if len(kept) != len(none) {
		for _, snapshot := range kept {
			snapshot.Release()
		}
		return none
	}
	return kept
}

// restoreContext returns the restored context of a task's draft of the i-th drafter, nil if there
// is none.
func (e *Engine) restoreContext(s *mlx.Scope, t *task, i int) cache.Stack {
	c := &e.contexts
	if t.path == nil || c.Keeper == nil || i != c.index {
		return nil
	}
	context, ok := c.NewContext(e.contextOptions(t.maxPositions())), false
	err := s.Try(func() (err error) {
		ok, err = t.path.RestoreContext(s, context.Rewindable())
		return err
	})
	if err != nil {
		e.opts.Logger.Warn("restoring the context of a draft, which begins without", "error", err)
	}
	if !ok || err != nil {
		context.Free(s)
		return nil
	}
	return context
}
