package checkpoint

import (
	"cmp"
	"slices"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// Resize sets the budget in bytes and evicts down to it. It may evaluate.
func (t *Trie) Resize(s *mlx.Scope, budget int64) error {
	t.budget = budget
	return t.evict(s)
}

// Bytes returns the bytes that the trie holds in memory: parked caches and copied rows.
func (t *Trie) Bytes() int64 {
	bytes := t.bytes
	for _, p := range t.parked {
		bytes += p.stack.Bytes()
	}
	return bytes
}

// evict frees memory until the trie is within its budget, as far as sequences in flight allow.
func (t *Trie) evict(s *mlx.Scope) error {
	for t.Bytes() > t.budget {
		n := t.victim(t.root, nil)
		var p *parked
		for _, q := range t.parked {
			if p == nil || q.node.used < p.node.used {
				p = q
			}
		}
		switch {
		case p != nil && (n == nil || p.node.used <= n.used):
			t.freeParked(s, p)
		case n != nil && n.spillable():
			for _, p := range n.captures {
				if p != nil {
					t.bytes -= p.Spill()
				}
			}
		case n != nil:
			if err := t.remove(s, n); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// bytes returns the bytes that a node has in memory.
func (n *node) bytes() (sum int64) {
	for _, p := range n.captures {
		if p != nil {
			sum += p.Bytes()
		}
	}
	return sum
}

// spillable reports whether everything that a node holds is on disk too.
func (n *node) spillable() bool {
	return !slices.ContainsFunc(n.captures, func(p *cache.Snapshot) bool {
		return p != nil &&
			!p.Stored()
	})
}

// victim returns the node to evict first among best, n and the nodes after n: the one that is worth
// least, and the last of its text if several are. A node where texts diverge stays unless it is on
// disk. A node in use by a sequence stays.
func (t *Trie) victim(n, best *node) *node {
	if n != t.root && n.refs == 0 && (len(n.children) < 2 || n.spillable()) && n.bytes() > 0 {
		if best == nil || cmp.Or(cmp.Compare(t.worth(n), t.worth(best)),
			cmp.Compare(best.end, n.end)) < 0 {
			best = n
		}
	}
	for _, child := range n.children {
		best = t.victim(child, best)
	}
	return best
}

// worth estimates what a node saves for each of its bytes: the tokens that would be evaluated
// without it, divided by its age in uses of the trie.
func (t *Trie) worth(n *node) float64 {
	saved := len(n.tokens)
	if t.NeedsExact() {
		if !t.complete(n) {
			return 0 // it serves the nodes after it, which get its rows
		}
		before := n.parent
		for !t.complete(before) {
			before = before.parent
		}
		saved = n.end - before.end
	}
	return float64(saved) / float64(n.bytes()) / float64(1+t.clock-n.used)
}

// remove removes a node with at most one child from the trie, and the nodes before it that nothing
// needs any more.
func (t *Trie) remove(s *mlx.Scope, n *node) error {
	merges := len(n.children) == 1 // which discards states, but no rows
	if t.complete(n) && (!merges || t.NeedsExact()) {
		t.tombstones.add(n.end, digestOf(n.sequence()), "left memory, for want of space, and was not on disk")
	}
	if merges {
		return t.merge(s, n)
	}
	for {
		delete(n.parent.children, n.tokens[0])
		release(t.takeCaptures(n))
		// The node before it may have been there only for its sake: rows without a state.
		if n = n.parent; n == t.root || n.refs > 0 || len(n.children) > 0 || t.complete(n) {
			return nil
		}
	}
}
