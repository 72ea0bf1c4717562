package engine

import (
	"sync"

	"tandem/engine/lm"
)

// kvBytes sums up what the caches of all requests in flight hold. The scheduler's goroutine measures;
// any goroutine may ask for the sum.
type kvBytes struct {
	bounded lm.BoundedModel // nil if the model's layers are not bounded

	mu  sync.Mutex
	sum lm.KVBytes
}

// total returns what the caches of all requests in flight held after their last rounds.
func (k *kvBytes) total() lm.KVBytes {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sum
}

// note takes in what a task's caches hold. It is part of the work of a round, on the MLX thread. Models
// without bounded layers are not asked.
func (k *kvBytes) note(t *task) {
	if k.bounded != nil {
		k.set(t, k.measure(t))
	}
}

// set replaces a task's part of the sum.
func (k *kvBytes) set(t *task, now lm.KVBytes) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sum = k.sum.Plus(now).Minus(t.held)
	t.held = now
}

// measure returns what a task's caches hold, on the MLX thread.
func (k *kvBytes) measure(t *task) lm.KVBytes {
	if k.bounded != nil {
		return k.bounded.Bytes(t.caches)
	}
	return lm.KVBytes{Exact: t.caches.Bytes()}
}
