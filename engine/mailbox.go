package engine

import (
	"context"
	"sync"
)

// A mailbox carries tokens from the scheduler to the goroutine that ranges over a generation.
// Posting never waits. The context bounds a request's tokens, so it bounds the box too.
type mailbox struct {
	mu     sync.Mutex
	tokens []Token
	done   int // prompt tokens evaluated
	total  int

	restoring bool // the request has left the queue
	restored  int  // prompt tokens that need not be evaluated; -1 until the reading begins
	closed    bool
	wake      chan struct{} // capacity 1
}

func newMailbox() *mailbox { return &mailbox{restored: -1, wake: make(chan struct{}, 1)} }

func (m *mailbox) update(change func()) {
	m.mu.Lock()
	change()
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) post(t Token) { m.update(func() { m.tokens = append(m.tokens, t) }) }

func (m *mailbox) progress(done, total int) { m.update(func() { m.done, m.total = done, total }) }

func (m *mailbox) leaveQueue() { m.update(func() { m.restoring = true }) }

func (m *mailbox) restore(tokens int) { m.update(func() { m.restored = tokens }) }

func (m *mailbox) close() { m.update(func() { m.closed = true }) }

// each hands over tokens in order until the box is closed and empty, visit returns false, or ctx
// ends. It reports whether everything was handed over. It calls the request's Restoring, Restored
// and Progress.
func (m *mailbox) each(ctx context.Context, r *Request, visit func(Token) bool) (drained bool) {
	reported, restored, left := 0, -1, false
	for {
		m.mu.Lock()
		tokens, done, total, closed := m.tokens, m.done, m.total, m.closed
		leaves, ready := m.restoring && !left, m.restored
		m.tokens = nil
		m.mu.Unlock()
		if leaves {
			left = true
			if r.Restoring != nil {
				r.Restoring()
			}
		}
		if r.Restored != nil && ready > restored {
			r.Restored(ready)
			restored = ready
		}
		if r.Progress != nil && done > reported {
			r.Progress(done, total)
			reported = done
		}
		for _, t := range tokens {
			if ctx.Err() != nil || !visit(t) {
				return false
			}
		}
		if closed {
			return true
		}
		select {
		case <-m.wake:
		case <-ctx.Done():
			return false
		}
	}
}
