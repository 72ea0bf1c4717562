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
	closed bool
	wake   chan struct{} // capacity 1
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

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

func (m *mailbox) close() { m.update(func() { m.closed = true }) }

// each hands over tokens in order until the box is closed and empty, visit returns false, or ctx
// ends. It reports whether everything was handed over.
func (m *mailbox) each(ctx context.Context, visit func(Token) bool,
	progress func(done, total int)) (drained bool) {
	told := 0
	for {
		m.mu.Lock()
		tokens, done, total, closed := m.tokens, m.done, m.total, m.closed
		m.tokens = nil
		m.mu.Unlock()
		if progress != nil && done > told {
			progress(done, total)
			told = done
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
