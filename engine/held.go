package engine

import (
	"sync"

	"tandem/engine/lm"
)

// held sums up what the caches of all requests in flight hold.
type held struct {
	mu  sync.Mutex
	sum lm.KVBytes
}

// KVBytes returns what the caches of all requests in flight held after their last rounds, measured.
// It is zero if none is in flight, and for models whose layers are not bounded.
func (e *Engine) KVBytes() lm.KVBytes {
	e.held.mu.Lock()
	defer e.held.mu.Unlock()
	return e.held.sum
}

// noteHeld notes what a task's caches hold. It is part of the work of a round, on the MLX thread. Other
// models than those with bounded layers are not asked for it.
func (e *Engine) noteHeld(t *task) {
	if _, ok := e.model.(lm.BoundedModel); ok {
		e.setHeld(t, e.measure(t))
	}
}

// setHeld replaces a task's part of the sum.
func (e *Engine) setHeld(t *task, now lm.KVBytes) {
	e.held.mu.Lock()
	defer e.held.mu.Unlock()
	e.held.sum = e.held.sum.Plus(now).Minus(t.held)
	t.held = now
}

// measure returns what a task's caches hold, on the MLX thread.
func (e *Engine) measure(t *task) lm.KVBytes {
	if m, ok := e.model.(lm.BoundedModel); ok {
		return m.Bytes(t.caches)
	}
	return lm.KVBytes{Exact: t.caches.Bytes()}
}
