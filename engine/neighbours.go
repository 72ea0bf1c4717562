package engine

import "sync/atomic"

// Neighbours counts the engines of one thread that have work. Their rounds take turns,
// in the order in which they come to the thread: what a round takes while another
// engine has work says little of what it costs. The zero value is ready; nil stands
// for a thread with one engine.
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

// others reports, to an engine that has work, whether another one has.
func (n *Neighbours) others() bool { return n != nil && n.working.Load() > 1 }
