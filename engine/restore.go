package engine

import (
	"fmt"
	"slices"
	"time"

	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
)

// maxRestores is how many restores may fail until a request begins with nothing.
const maxRestores = 16

// restore gives a task its caches: with the deepest state that is kept of its text, or
// empty. Where less is restored than could be, Stats.Miss says why.
func (c *checkpoints) restore(s *mlx.Scope, t *task) {
	if fresh, miss := c.beginsFresh(t); fresh {
		t.caches, t.stats.Miss = c.newCaches(t), miss
		return
	}
	if c.trie == nil {
		c.openTrie(s, t)
	}
	start := time.Now()
	tokens := t.tokens[:t.given]
	c.restorePath(s, t, tokens)
	if t.caches == nil {
		t.path.Close()
		t.path, t.caches = nil, c.newCaches(t)
		return
	}
	t.caches.Expect(t.maxPositions()) // they may come from a request of another length
	t.fed = t.path.Restored
	t.stats.CachedTokens, t.stats.Restore = min(t.fed, len(t.req.Prompt)), time.Since(start)
	if t.stats.Miss == "" {
		t.stats.Miss = missed(t.path, len(tokens))
	}
	t.offsets = captureOffsets(t, len(tokens))
	if err := t.scheduleCaptures(false); err != nil {
		s.Fail(err)
	}
}

// newCaches makes the empty caches of a task.
func (c *checkpoints) newCaches(t *task) cache.Stack {
	return c.model.NewCaches(c.caches.ofModel(t.maxPositions()))
}

// beginsFresh reports whether a task takes nothing from others, and why where that is
// worth a word.
func (c *checkpoints) beginsFresh(t *task) (fresh bool, miss string) {
	switch {
	case t.req.Fresh || t.forgets != c.forgets.Load():
		return true, ""
	case c.budget <= 0:
		return true, "checkpoints are off"
	case t.req.PromptLogprobs:
		return true, "the prompt is scored, token by token"
	case t.req.Speculation.Exact:
		// What others computed differs in its last bits.
		return true, "exact requests evaluate their whole text"
	}
	return false, ""
}

// openTrie makes the trie of checkpoints at the first request, with what is on disk.
func (c *checkpoints) openTrie(s *mlx.Scope, t *task) {
	contexts := c.drafters.findContexts()
	c.trie = checkpoint.New(c.newCaches(t), contexts, c.budget)
	if c.store == nil {
		return
	}
	if err := c.trie.Load(s, c.store); err != nil {
		c.log.Error("bringing back checkpoints", "error", err)
	}
}

// restorePath finds a task's place among the checkpoints and restores the caches there.
// They stay nil if that fails too often.
func (c *checkpoints) restorePath(s *mlx.Scope, t *task, tokens []int32) {
	label := checkpoint.Label{Run: t.req.Run, Prompt: len(t.req.Prompt)}
	fresh := func() cache.Stack { return c.newCaches(t) }
	t.path = c.trie.Begin(tokens, label)
	t.stats.Matched = min(t.path.Matched, len(t.req.Prompt))
	if p := t.path.Divergence; p != nil {
		t.stats.Divergence = &Divergence{p.Kept, p.Given, p.Kind == checkpoint.KindAnswer, p.Run}
	}
	for range maxRestores {
		var err error
		if t.caches, err = t.path.Restore(s, fresh); err == nil {
			return
		}
		// An earlier checkpoint may do.
		c.log.Warn("restoring a checkpoint", "error", err)
		t.stats.Miss = fmt.Sprintf("a checkpoint could not be restored: %v", err)
		t.path.Close()
		t.path = c.trie.Begin(tokens, label)
	}
}

// missed says why less was restored than matched of a text of n tokens, empty if that is
// not so.
func missed(p *checkpoint.Path, n int) string {
	switch {
	case p.Gone != "":
		return fmt.Sprintf("the checkpoint of the first %d tokens %s", p.Length, p.Gone)
	case min(p.Matched, n-1) > p.Restored:
		return fmt.Sprintf("there is no checkpoint between token %d and token %d, up to which the text is known",
			p.Restored, p.Matched)
	}
	return ""
}

// captureOffsets returns where states of a text of n tokens are captured ahead, ascending.
func captureOffsets(t *task, n int) []int {
	if t.path.Scheduled() {
		// Where this text parts from another, more may.
		offsets := checkpoint.Offsets(t.fed, n, append(slices.Clone(t.req.Boundaries), t.path.Matched))
		// Where a checkpoint is gone, it is kept again: exactly there, so that it can take the place of
		// one of older arithmetic.
		if at, found := slices.BinarySearch(offsets, t.path.Length); !found && t.path.Length > 0 {
			offsets = slices.Insert(offsets, at, t.path.Length)
		}
		return offsets
	}
	if end := n - 1; end > t.fed {
		return []int{end} // it can be restored anywhere before
	}
	return nil
}

// scheduleCaptures asks caches for captures at the offsets to come. Without undone it asks all
// caches, because none has a schedule. After a block was taken back it asks the caches that lost
// their schedules.
func (t *task) scheduleCaptures(undone bool) error {
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
