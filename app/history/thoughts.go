package history

import (
	"context"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/storage"
)

// A thoughtDeletion knows when thoughts were last deleted by hand. A request that was there then
// stores none any more.
type thoughtDeletion struct {
	mu sync.RWMutex // a thought is added while it is held for reading
	at time.Time    // zero if never
}

// note notes a deletion that comes next. Thoughts that are being added are there then.
func (d *thoughtDeletion) note() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = time.Now()
}

// KeepsThoughts implements api.Thoughts.
func (h *History) KeepsThoughts() bool {
	return !h.opts.NoCheckpoints && h.settings.Current().PutBackThoughts
}

// KeepThought implements api.Thoughts.
func (h *History) KeepThought(ctx context.Context, t control.KeptThought, arrived time.Time) error {
	h.thoughts.mu.RLock()
	defer h.thoughts.mu.RUnlock()
	if !h.KeepsThoughts() || !arrived.After(h.thoughts.at) {
		return nil
	}
	err := h.db.Responses.AddThought(ctx, t)
	if storage.IsNotFound(err) { // its key is gone, or its run was forgotten
		return nil
	}
	return err
}

// KeptThoughts implements api.Thoughts.
func (h *History) KeptThoughts(ctx context.Context, owner int64, model string,
	histories []string) ([]control.KeptThought, error) {
	return h.db.Responses.Thoughts(ctx, owner, model, histories)
}

// DropThoughts deletes all thoughts. It is called when the setting is turned off.
func (h *History) DropThoughts(ctx context.Context) {
	h.thoughts.note()
	if err := h.db.Responses.DropThoughts(context.WithoutCancel(ctx)); err != nil {
		h.log.Warn("thoughts stay in the database until they are old", "error", err)
	}
}
