package engine

import (
	"context"

	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
)

// dropCheckpoints gives up all checkpoints in memory, at the end or because they cannot be trusted.
func (e *Engine) dropCheckpoints() {
	trie := e.trie
	if trie == nil {
		return
	}
	e.trie = nil
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) error { trie.Close(s); return nil })
	if err != nil {
		e.opts.Logger.Error("letting go of checkpoints", "error", err)
	}
}

// saveCheckpoints makes checkpoints of the captures at committed tokens, and schedules the next
// ones.
func (e *Engine) saveCheckpoints(t *task) {
	if t.path == nil || t.finished {
		return
	}
	if t.path.Lost() {
		t.path.Leave()
		t.path = nil
		return
	}
	// A draft is told of the row in flight one step later. Until then its context is a row
	// short, and the edge would not span it.
	settled := t.fed
	if t.inFlight != nil && len(t.tokens) > t.given {
		settled--
	}
	due := len(t.offsets) > 0 && t.offsets[0] <= settled
	answers := t.path.Scheduled() && !e.opts.PromptOnly
	first := len(t.offsets) == 0 && !t.prefilling() && answers // of the answer
	if !due && !first {
		return
	}
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
		err := e.extendPath(s, t)
		if len(t.offsets) == 0 && answers {
			prompt := len(t.req.Prompt)
			t.offsets = []int{prompt + checkpoint.Next(max(0, t.fed-prompt))}
		}
		if err == nil {
			err = t.scheduleCaptures(false)
		}
		return err
	})
	if err != nil {
		e.opts.Logger.Error("keeping a checkpoint; the request goes on without", "error", err)
		t.path.Leave()
		t.path = nil
	}
}

// extendPath hands the captures at committed offsets over to the trie.
func (e *Engine) extendPath(s *mlx.Scope, t *task) error {
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
		err = t.path.Extend(s, t.tokens[from:to],
			append(captures, e.keptContext(s, t, from, to)...))
	}
	t.offsets = t.offsets[len(captured):]
	return err
}

// keepState leaves the state of a task that ends to later requests, with its caches. They hold the
// first fed tokens.
func (e *Engine) keepState(s *mlx.Scope, t *task) error {
	if t.path.Lost() {
		return nil // the files it knows were, too
	}
	if err := e.extendPath(s, t); err != nil {
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
		captures = append(captures, e.keptContext(s, t, from, t.fed)...)
		if err := t.path.Extend(s, t.tokens[from:t.fed], captures); err != nil {
			return err
		}
	}
	path, caches := t.path, t.caches
	t.stats.File, t.stats.Filed = path.File()
	t.path, t.caches = nil, nil
	return path.Park(s, caches)
}
