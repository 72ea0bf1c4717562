package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Neighbours are the engines of one thread. Their rounds wait for one another on the thread, so a
// round's time says little of its cost while another engine has work. The zero value is ready. Nil
// stands for a thread with one engine. Its methods may be called from any goroutine.
type Neighbours struct {
	working atomic.Int32

	mu      sync.Mutex
	changed *sync.Cond        // of brief; its lock is mu
	brief   map[*Engine][]any // what each engine will soon have done; see Engine.briefWork
}

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

// setBrief says what brief work e has now.
func (n *Neighbours) setBrief(e *Engine, work []any) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(work) == 0 {
		delete(n.brief, e)
	} else {
		if n.brief == nil {
			n.brief = map[*Engine][]any{}
		}
		n.brief[e] = work
	}
	if n.changed != nil {
		n.changed.Broadcast()
	}
}

// letPass waits for the brief work that other engines have now. An engine with brief work of its
// own does not wait, so that no two wait for each other.
func (n *Neighbours) letPass(e *Engine) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed == nil {
		n.changed = sync.NewCond(&n.mu)
	}
	var passing []any
	for other, work := range n.brief {
		if other == e {
			return
		}
		passing = append(passing, work...)
	}
	under := func(work any) bool {
		for _, list := range n.brief {
			if slices.Contains(list, work) {
				return true
			}
		}
		return false
	}
	for slices.ContainsFunc(passing, under) {
		n.changed.Wait()
	}
}

// briefTokens are the first tokens of an answer, which come without chunks of other engines between
// them.
const briefTokens = 8

// briefWork lists the requests and readings that need no more than a chunk and some steps.
func (e *Engine) briefWork(active []*task) (list []any) {
	for _, t := range active {
		if !t.finished && t.remaining() <= e.opts.Chunk && t.generated() < briefTokens {
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
