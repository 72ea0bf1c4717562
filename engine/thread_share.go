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
	changed *sync.Cond        // of short; its lock is mu
	short   map[*Engine][]any // what each engine will soon have done; see Engine.shortWork
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

// setShort replaces the short work of e.
func (s *ThreadShare) setShort(e *Engine, work []any) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(work) == 0 {
		delete(s.short, e)
	} else {
		if s.short == nil {
			s.short = map[*Engine][]any{}
		}
		s.short[e] = work
	}
	if s.changed != nil {
		s.changed.Broadcast()
	}
}

// yield waits until the short work is done that other engines have now. An engine that has short work
// itself does not wait, so that no two wait for each other.
func (s *ThreadShare) yield(e *Engine) {
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
		if other == e {
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

// shortTokens are the first tokens of an answer, which come without chunks of other engines between
// them.
const shortTokens = 8

// shortWork lists the requests and readings that need no more than a chunk and some steps.
func (e *Engine) shortWork(active []*task) (list []any) {
	for _, t := range active {
		if !t.finished && t.remaining() <= e.opts.Chunk && t.generated() < shortTokens {
			list = append(list, t)
		}
	}
	for _, t := range e.readers {
		if !t.finished && t.stats.PromptTokens-t.done <= e.opts.Chunk {
			list = append(list, t)
		}
	}
	return list
}
