package engine

import (
	"context"
	"log/slog"
	"sync/atomic"

	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// checkpoints keeps states that requests computed for requests that begin alike. All but forgets
// belongs to the scheduler's goroutine.
type checkpoints struct {
	thread   *mlx.Thread
	model    lm.Model
	caches   cacheOptions
	drafters *drafters // their contexts are kept too
	log      *slog.Logger

	store      *checkpoint.Store // nil keeps nothing on disk
	promptOnly bool              // Options.PromptOnly
	budget     int64             // bytes of the trie; see Options.Checkpoints
	trie       *checkpoint.Trie  // nil before the first request, and after drop

	forgets atomic.Int64 // calls of forget so far
}

// bytes returns what the checkpoints in memory take.
func (c *checkpoints) bytes() int64 {
	if c.trie == nil {
		return 0
	}
	return c.trie.Bytes()
}

// drop gives up all checkpoints in memory, at the end or because they cannot be trusted.
func (c *checkpoints) drop() {
	trie := c.trie
	if trie == nil {
		return
	}
	c.trie = nil
	err := c.thread.Do(context.Background(), func(s *mlx.Scope) error { trie.Close(s); return nil })
	if err != nil {
		c.log.Error("letting go of checkpoints", "error", err)
	}
}

// resize gives checkpoints another budget, and returns the bytes that left the memory
// for it.
func (c *checkpoints) resize(bytes int64) (freed int64) {
	same := c.budget == bytes
	c.budget = bytes
	if same || c.trie == nil {
		return 0
	}
	err := c.thread.Do(context.Background(), func(s *mlx.Scope) error {
		before := c.trie.Bytes()
		err := c.trie.Resize(s, bytes)
		freed = max(0, before-c.trie.Bytes())
		return err
	})
	if err != nil {
		c.log.Error("giving checkpoints another budget", "error", err)
		c.drop() // what was moved may be in two places, or in none
	}
	return freed
}

// free is resize, and gives what MLX holds for reuse back to the system too.
func (c *checkpoints) free(bytes int64) (freed int64) {
	freed = c.resize(bytes)
	err := c.thread.Do(context.Background(), func(s *mlx.Scope) error { s.ClearCache(); return nil })
	if err != nil {
		c.log.Error("giving memory back to the system", "error", err)
	}
	return freed
}

// forget gives up all checkpoints in memory. Then it calls remove, during which the store neither
// reads nor writes. Tasks that came before leave nothing.
func (c *checkpoints) forget(remove func()) {
	c.drop()
	c.forgets.Add(1)
	if c.store != nil {
		c.store.DiscardScan()
		defer c.store.Refresh()
	}
	remove()
}

// save makes checkpoints of the captures at committed tokens, and schedules the next
// ones.
func (c *checkpoints) save(t *task) {
	if t.path == nil || t.finished {
		return
	}
	if t.path.Lost() {
		t.path.Close()
		t.path = nil
		return
	}
	// A draft gets the row in flight one step later. Until then its context is a row
	// short, and the edge would not span it.
	settled := t.fed
	if t.inFlight != nil && len(t.tokens) > t.given {
		settled--
	}
	due := len(t.offsets) > 0 && t.offsets[0] <= settled
	answers := t.path.Scheduled() && !c.promptOnly
	first := len(t.offsets) == 0 && !t.prefilling() && answers // of the answer
	if !due && !first {
		return
	}
	err := work(c.thread, func(s *mlx.Scope) error {
		err := c.extendPath(s, t)
		if len(t.offsets) == 0 && answers {
			prompt := len(t.req.Prompt)
			t.offsets = []int{prompt + checkpoint.Next(max(0, t.fed-prompt))}
		}
		if err == nil {
			err = t.scheduleCaptures(false)
		}
		return err
	}, t)
	if err != nil {
		c.log.Error("keeping a checkpoint; the request goes on without", "error", err)
		t.path.Close()
		t.path = nil
	}
}

// extendPath hands the captures at committed offsets over to the trie.
func (c *checkpoints) extendPath(s *mlx.Scope, t *task) error {
	captured := make([][]*cache.Snapshot, 0, len(t.offsets))
	for i, layer := range t.caches {
		for j, p := range layer.Captured() {
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
			append(captures, c.drafters.keptContext(s, t, from, to)...))
	}
	t.offsets = t.offsets[len(captured):]
	return err
}

// keepState leaves the state of a task that ends to later requests, with its caches. They hold the
// first fed tokens.
func (c *checkpoints) keepState(s *mlx.Scope, t *task) error {
	if t.path.Lost() {
		return nil // the files it knows were, too
	}
	if err := c.extendPath(s, t); err != nil {
		return err
	}
	from := t.path.From()
	enough := t.prefilling() || t.generated() >= checkpoint.Final || !t.path.NeedsExact()
	if enough && t.fed > from {
		captures := make([]*cache.Snapshot, len(t.caches))
		for i, layer := range t.caches {
			var err error
			if captures[i], err = layer.Snapshot(s, from); err != nil {
				for _, p := range captures[:i] {
					p.Release()
				}
				return err
			}
		}
		captures = append(captures, c.drafters.keptContext(s, t, from, t.fed)...)
		if err := t.path.Extend(s, t.tokens[from:t.fed], captures); err != nil {
			return err
		}
	}
	path, caches := t.path, t.caches
	t.stats.File, t.stats.Filed = path.File()
	t.path, t.caches = nil, nil
	return path.Park(s, caches)
}
