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
	draft.Keeper // nil if none has one
	index        int
	like         cache.Stack // what of one is kept, empty
}

// findContexts chooses the first drafter with a context that can be kept, and returns what of one is
// kept, empty.
func (ds *drafters) findContexts() (like cache.Stack) {
	ds.contexts = contexts{}
	for i, d := range ds.list {
		k, ok := d.(draft.Keeper)
		if !ok {
			continue
		}
		if like := k.NewContext(ds.caches.ofDraft(0)).Rewindable(); len(like) > 0 {
			ds.contexts = contexts{k, i, like}
			break
		}
	}
	return ds.contexts.like
}

// keptContext returns what a task's draft has of positions [from, to): one snapshot for each cache
// of a context, nil where nothing is kept. A drafter that is read another way by now may have other
// caches. Its contexts are not kept until the engine is opened again.
func (ds *drafters) keptContext(s *mlx.Scope, t *task, from, to int) []*cache.Snapshot {
	c := &ds.contexts
	none := make([]*cache.Snapshot, len(c.like))
	if c.Keeper == nil || t.drafts == nil || t.drafts[c.index] == nil {
		return none
	}
	var kept []*cache.Snapshot
	ds.try(s, t, c.index, func() (err error) {
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

// restoreContext returns the restored context of a task's draft of the i-th drafter, or nil.
func (ds *drafters) restoreContext(s *mlx.Scope, t *task, i int) cache.Stack {
	c := &ds.contexts
	if t.path == nil || c.Keeper == nil || i != c.index {
		return nil
	}
	context, ok := c.NewContext(ds.caches.ofDraft(t.maxPositions())), false
	err := s.Try(func() (err error) {
		ok, err = t.path.RestoreContext(s, context.Rewindable())
		return err
	})
	if err != nil {
		ds.log.Warn("restoring the context of a draft, which begins without", "error", err)
	}
	if !ok || err != nil {
		context.Free(s)
		return nil
	}
	return context
}
