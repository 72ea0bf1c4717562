package checkpoint

import (
	"slices"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// maxParked is how many stacks wait for their text to go on.
const maxParked = 4

// parked is the caches of a sequence that ended at a node, or a little behind it.
type parked struct {
	stack cache.Stack
	node  *node
}

// Park ends the path of a sequence and takes over its caches. It may evaluate.
func (p *Path) Park(s *mlx.Scope, stack cache.Stack) error {
	t, n := p.trie, p.node
	if n == t.root || t.closed { // nothing to go on with
		p.Leave()
		stack.Free(s)
		return nil
	}
	t.parked = append(t.parked, &parked{stack, n}) // stands there in the path's stead
	if len(t.parked) > maxParked {
		t.free(s, t.parked[0])
	}
	return t.evict(s)
}

// unpark hands over caches that hold the rows of a node, nil if there are none.
// Of several it takes the latest.
func (t *Trie) unpark(n *node) cache.Stack {
	for i, p := range slices.Backward(t.parked) {
		for at := p.node; at != nil; at = at.parent {
			if at == n {
				t.parked = slices.Delete(t.parked, i, i+1)
				p.node.stands--
				return p.stack
			}
		}
	}
	return nil
}

// free lets go of parked caches: nodes copy out what they hold of them.
func (t *Trie) free(s *mlx.Scope, p *parked) {
	t.parked = slices.DeleteFunc(t.parked, func(q *parked) bool { return q == p })
	p.node.stands--
	p.stack.Free(s)
}
