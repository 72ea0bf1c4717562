package engine

import "sync/atomic"

// A ThreadShare is shared by the engines of one thread. Their rounds wait for one another on the
// thread, so a round's time says little of its cost while another engine has work. The zero value is
// ready. Nil means that the thread has one engine. Its methods may be called from any goroutine.
type ThreadShare struct {
	working atomic.Int32
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
