package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// attempts is how many restores may fail until a request goes on with nothing.
const attempts = 16

// recall gives a task its caches: with what is remembered of the beginning of
// its prompt, or empty.
func (e *Engine) recall(s *mlx.Scope, t *task) {
	fresh := func() cache.Stack { return e.model.NewCaches(e.caches(t.most())) }
	switch {
	case t.req.Fresh || t.era != e.era:
		t.caches = fresh()
		return
	case e.opts.Checkpoints <= 0:
		t.caches, t.stats.Miss = fresh(), "checkpoints are off"
		return
	case t.req.PromptLogprobs:
		t.caches, t.stats.Miss = fresh(), "the prompt is scored, token by token"
		return
	case t.req.Speculation.Exact:
		// What others computed is equal but for its last bits.
		t.caches, t.stats.Miss = fresh(), "exact requests evaluate their whole text"
		return
	}
	if e.trie == nil {
		e.contexts.choose(e.opts.Drafters, e.caches(0))
		e.trie = checkpoint.New(fresh(), e.contexts.like, e.opts.Checkpoints)
		if e.opts.Store != nil {
			if err := e.trie.Load(s, e.opts.Store); err != nil {
				e.opts.Logger.Error("bringing back checkpoints", "error", err)
			}
		}
	}
	start := time.Now()
	text := t.tokens[:t.given]
	label := checkpoint.Label{Run: t.req.Run, Prompt: len(t.req.Prompt)}
	t.path = e.trie.Begin(text, label)
	t.stats.Matched = min(t.path.Matched, len(t.req.Prompt))
	if p := t.path.Parted; p != nil {
		t.stats.Parted = &Parting{p.Kept, p.Given, p.Kind == checkpoint.KindAnswer}
	}
	for range attempts {
		var err error
		if t.caches, err = t.path.Restore(s, fresh); err == nil {
			break
		}
		// What comes before it may be there.
		e.opts.Logger.Warn("restoring a checkpoint", "error", err)
		t.stats.Miss = fmt.Sprintf("a checkpoint could not be restored: %v", err)
		t.path.Leave()
		t.path = e.trie.Begin(text, label)
	}
	if t.caches == nil {
		t.path.Leave()
		t.path, t.caches = nil, fresh()
		return
	}
	t.caches.Expect(t.most()) // they may be another request's, which was to be of another length
	t.fed = t.path.Restored
	t.stats.CachedTokens, t.stats.Restore = min(t.fed, len(t.req.Prompt)), time.Since(start)
	switch {
	case t.stats.Miss != "":
	case t.path.Gone != "":
		t.stats.Miss = fmt.Sprintf("the checkpoint of the first %d tokens %s", t.path.Length, t.path.Gone)
	case min(t.path.Matched, len(text)-1) > t.fed:
		t.stats.Miss = fmt.Sprintf("there is no checkpoint between token %d and token %d, up to which the text is known", t.fed, t.path.Matched)
	}
	if t.path.Scheduled() {
		// Where this text parts from another, more may.
		t.offsets = checkpoint.Offsets(t.fed, len(text), append(slices.Clone(t.req.Boundaries), t.path.Matched))
	} else if end := len(text) - 1; end > t.fed {
		t.offsets = []int{end} // it can be restored anywhere before
	}
	if err := t.reschedule(false); err != nil {
		s.Fail(err)
	}
}

// reschedule asks caches for captures at the offsets that are still to come: all
// of them, which know of none, or those that lost their schedule when a block
// was taken back.
func (t *task) reschedule(undone bool) error {
	if t.path == nil || len(t.offsets) == 0 {
		return nil
	}
	for _, c := range t.caches {
		if undone && !c.NeedsExact() {
			continue // trimmed, and its schedule with it
		}
		if err := c.Schedule(t.path.From(), t.offsets...); err != nil {
			return err
		}
	}
	return nil
}

// choose finds the first drafter of whose context something can be kept.
func (c *contexts) choose(drafters []draft.Drafter, o cache.Options) {
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

// contexts says of which drafter contexts are kept beside the target's state.
type contexts struct {
	draft.Keeper // nil if of none
	index        int
	like         cache.Stack // what of one is kept, empty
}

// context returns what a task's draft has of the positions [from, to), a nil
// for each cache of a context that is not there.
func (e *Engine) context(s *mlx.Scope, t *task, from, to int) []*cache.Snapshot {
	c := &e.contexts
	none := make([]*cache.Snapshot, len(c.like))
	if c.Keeper == nil || t.drafts == nil || t.drafts[c.index] == nil {
		return none
	}
	var kept []*cache.Snapshot
	e.guard(s, t, c.index, func() (err error) {
		kept, err = t.drafts[c.index].(draft.Kept).Keep(s, from, to)
		return err
	})
	if kept == nil {
		return none
	}
	return kept
}

// recallContext returns the restored context of a task's draft of the i-th
// drafter, nil if there is none.
func (e *Engine) recallContext(s *mlx.Scope, t *task, i int) cache.Stack {
	c := &e.contexts
	if t.path == nil || c.Keeper == nil || i != c.index {
		return nil
	}
	context, ok := c.NewContext(e.caches(t.most())), false
	err := s.Try(func() (err error) {
		ok, err = t.path.RestoreContext(s, context.Rewindable())
		return err
	})
	if err != nil {
		e.opts.Logger.Warn("restoring the context of a draft, which begins anew", "error", err)
	}
	if !ok || err != nil {
		context.Free(s)
		return nil
	}
	return context
}

// forget gives up all checkpoints, at the end or because they cannot be trusted.
func (e *Engine) forget() {
	trie := e.trie
	if trie == nil {
		return
	}
	e.trie = nil
	if err := e.thread.Do(context.Background(), func(s *mlx.Scope) error { trie.Close(s); return nil }); err != nil {
		e.opts.Logger.Error("letting go of checkpoints", "error", err)
	}
}

// remember makes checkpoints of what the caches captured of committed tokens,
// and schedules what comes next.
func (e *Engine) remember(t *task) {
	if t.path == nil || t.finished {
		return
	}
	if t.path.Lost() {
		t.path.Leave()
		t.path = nil
		return
	}
	// A draft hears of the row in flight a step later: with its context short of
	// a row the edge would be no edge of it.
	settled := t.fed
	if t.flight != nil && len(t.tokens) > t.given {
		settled--
	}
	due := len(t.offsets) > 0 && t.offsets[0] <= settled
	answers := t.path.Scheduled() && !e.opts.PromptOnly
	first := len(t.offsets) == 0 && !t.prefilling() && answers // of the answer
	if !due && !first {
		return
	}
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
		err := e.extend(s, t)
		if len(t.offsets) == 0 && answers {
			prompt := len(t.req.Prompt)
			t.offsets = []int{prompt + checkpoint.Next(max(0, t.fed-prompt))}
		}
		if err == nil {
			err = t.reschedule(false)
		}
		return err
	})
	if err != nil {
		e.opts.Logger.Error("keeping a checkpoint; the request goes on without", "error", err)
		t.path.Leave()
		t.path = nil
	}
}

// extend hands the captures at committed offsets over to the trie.
func (e *Engine) extend(s *mlx.Scope, t *task) error {
	captured := make([][]*cache.Snapshot, 0, len(t.offsets))
	for i, c := range t.caches {
		for j, p := range c.Captured() {
			if i == 0 {
				captured = append(captured, nil)
			}
			captured[j] = append(captured[j], p)
		}
	}
	var err error
	for i, captures := range captured {
		if err != nil {
			for _, p := range captures {
				p.Release()
			}
			continue
		}
		from, to := t.path.From(), t.offsets[i]
		err = t.path.Extend(s, t.tokens[from:to], append(captures, e.context(s, t, from, to)...))
	}
	t.offsets = t.offsets[len(captured):]
	return err
}

// keep leaves what a task that ends has computed to those that come after it,
// and its caches with it. They hold the first fed tokens.
func (e *Engine) keep(s *mlx.Scope, t *task) error {
	if t.path.Lost() {
		return nil // the files it knows were, too
	}
	if err := e.extend(s, t); err != nil {
		return err
	}
	from := t.path.From()
	enough := t.prefilling() || t.generated() >= checkpoint.Final || !t.path.NeedsExact()
	if enough && t.fed > from {
		captures := make([]*cache.Snapshot, len(t.caches))
		for i, c := range t.caches {
			var err error
			if captures[i], err = c.Snapshot(s, from); err != nil {
				for _, p := range captures[:i] {
					p.Release()
				}
				return err
			}
		}
		captures = append(captures, e.context(s, t, from, t.fed)...)
		if err := t.path.Extend(s, t.tokens[from:t.fed], captures); err != nil {
			return err
		}
	}
	path, caches := t.path, t.caches
	t.stats.File, t.stats.Filed = path.File()
	t.path, t.caches = nil, nil
	return path.Park(s, caches)
}
