package engine

import "sync/atomic"

// Neighbours counts the engines of one thread that have work. Their rounds wait for one
// another on the thread, so a round's time says little of its cost while another engine
// has work. The zero value is ready. Nil stands for a thread with one engine. Its methods
// may be called from any goroutine.
type Neighbours struct{ working atomic.Int32 }

func (n *Neighbours) begin() {
	if n != nil {
		n.working.Add(1)
	}
}

func (n *Neighbours) end() {
	if n != nil {
		n.working.Add(-1)
	}
}

// others reports whether another engine has work. Only an engine that has work asks.
func (n *Neighbours) others() bool { return n != nil && n.working.Load() > 1 }
