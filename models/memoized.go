package models

import (
	"sync"
	"sync/atomic"
)

// A memoized value is read when it is first asked for, and then kept until drop. An error is not kept. It is
// safe for use by several goroutines, and one of them reads.
type memoized[T any] struct {
	mu    sync.Mutex
	value atomic.Pointer[T]
}

func (k *memoized[T]) get(read func() (T, error)) (T, error) {
	if v := k.value.Load(); v != nil {
		return *v, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if v := k.value.Load(); v != nil {
		return *v, nil
	}
	v, err := read()
	if err == nil {
		k.value.Store(&v)
	}
	return v, err
}

func (k *memoized[T]) drop() { k.value.Store(nil) }
