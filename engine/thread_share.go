package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A ThreadShare is shared by the engines of one thread. Their rounds wait for one another on the
// thread, so a round's time says little of its cost while another engine has work. The zero value is
// ready. Nil means that the thread has one engine. Its methods may be called from any goroutine.
type ThreadShare struct {
	working atomic.Int32

	mu      sync.Mutex
	changed *sync.Cond    // of short; its lock is mu
	short   map[any][]any // what each engine will soon have done, by its scheduler
}

func (s *ThreadShare) begin() {
	if s != nil {
		s.working.Add(1)
	}
}

func (s *ThreadShare) end() {
	if s != nil {
		s.working.Add(-1)
	}
}

// others reports whether another engine has work. Only an engine that has work asks.
func (s *ThreadShare) others() bool { return s != nil && s.working.Load() > 1 }

// setShort replaces the short work of an engine.
func (s *ThreadShare) setShort(engine any, work []any) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(work) == 0 {
		delete(s.short, engine)
	} else {
		if s.short == nil {
			s.short = map[any][]any{}
		}
		s.short[engine] = work
	}
	if s.changed != nil {
		s.changed.Broadcast()
	}
}

// yield waits until the short work is done that other engines have now. An engine that has short work
// itself does not wait, so that no two wait for each other.
func (s *ThreadShare) yield(engine any) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = sync.NewCond(&s.mu)
	}
	var passing []any
	for other, work := range s.short {
		if other == engine {
			return
		}
		passing = append(passing, work...)
	}
	unfinished := func(work any) bool {
		for _, list := range s.short {
			if slices.Contains(list, work) {
				return true
			}
		}
		return false
	}
	for slices.ContainsFunc(passing, unfinished) {
		s.changed.Wait()
	}
}
