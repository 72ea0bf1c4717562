package checkpoint

import (
	"slices"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// maxParked is the most stacks that are parked.
const maxParked = 4

// parked holds the caches of a sequence that ended at a node, or a little after it.
type parked struct {
	stack cache.Stack
	node  *node
}

// Park ends the path of a sequence and takes over its caches. A sequence that goes on with the text
// gets them back from Restore. It may evaluate.
func (p *Path) Park(s *mlx.Scope, stack cache.Stack) error {
	t, n := p.trie, p.node
	if n == t.root || t.closed { // nothing was captured
		p.Close()
		stack.Free(s)
		return nil
	}
	t.parked = append(t.parked, &parked{stack, n}) // it is there in place of the path
	if len(t.parked) > maxParked {
		t.freeParked(s, t.parked[0])
	}
	return t.evict(s)
}

// unpark removes the latest parked caches that hold the rows of a node and returns them, or nil.
func (t *Trie) unpark(n *node) cache.Stack {
	for i, p := range slices.Backward(t.parked) {
		for at := p.node; at != nil; at = at.parent {
			if at == n {
				t.parked = slices.Delete(t.parked, i, i+1)
				p.node.refs--
				return p.stack
			}
		}
	}
	return nil
}

// freeParked frees parked caches, which first copy out what nodes hold of them.
func (t *Trie) freeParked(s *mlx.Scope, p *parked) {
	t.parked = slices.DeleteFunc(t.parked, func(q *parked) bool { return q == p })
	p.node.refs--
	p.stack.Free(s)
}
