package checkpoint

import (
	"slices"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// A Trie holds the states of texts: see the package comment.
type Trie struct {
	budget int64
	exact  []bool // by cache: whether it needs exact restore points
	needed int    // caches without which nothing can be restored; behind them are a draft's
	root   *node
	parked []*parked // in the order in which they were parked
	bytes  int64     // of copied snapshots
	clock  int64     // counts uses
	closed bool

	gone    *gone
	store   *Store // nil if what is held is held in memory alone
	loading bool   // from the store
}

// A node is the end of an edge.
type node struct {
	parent   *node
	tokens   []int32 // of the edge; none at the root
	end      int     // position behind them
	children map[int32]*node
	captures []*cache.Snapshot // by cache; nil where it is not held; none at the root
	kind     Kind              // of the tokens, when they came
	file     string            // id of the one that has the edge, or began to be written; empty if there is none
	stands   int               // sequences in flight and parked ones that stand here
	used     int64             // clock of the last use
}

// New makes an empty trie for stacks like one, and for contexts of drafts like
// another, which keep every row; there may be none. Neither is kept. budget
// bounds the bytes of what is held.
func New(stack, context cache.Stack, budget int64) *Trie {
	t := &Trie{budget: budget, needed: len(stack), root: &node{children: map[int32]*node{}}, gone: new(gone)}
	for _, c := range slices.Concat(stack, context) {
		t.exact = append(t.exact, c.NeedsExact())
	}
	if slices.Contains(t.exact[t.needed:], true) {
		panic("checkpoint: the context of a draft needs exact restore points")
	}
	return t
}

// NeedsExact reports whether texts can be restored only where they were
// captured.
func (t *Trie) NeedsExact() bool { return slices.Contains(t.exact, true) }

// start returns the position of the edge's first token.
func (n *node) start() int { return n.end - len(n.tokens) }

// complete reports whether a node's end can be restored.
func (t *Trie) complete(n *node) bool {
	return n == t.root || !slices.Contains(n.captures[:t.needed], nil)
}

// use marks a node and all before it as used now.
func (t *Trie) use(n *node) {
	t.clock++
	for ; n != nil; n = n.parent {
		n.used = t.clock
	}
}

// put gives a node its captures, whose references it takes.
func (t *Trie) put(n *node, captures []*cache.Snapshot) {
	n.captures = captures
	for _, p := range captures {
		if p != nil {
			p.Observe(func(bytes int64) { t.bytes += bytes })
		}
	}
}

// take returns a node's captures, which are the caller's from here on.
func (t *Trie) take(n *node) []*cache.Snapshot {
	captures := n.captures
	n.captures = nil
	for _, p := range captures {
		if p != nil {
			p.Observe(nil)
			t.bytes -= p.Bytes()
		}
	}
	return captures
}

// release gives up captures that no node has.
func release(captures []*cache.Snapshot) {
	for _, p := range captures {
		if p != nil {
			p.Release()
		}
	}
}

// attach makes a node behind parent. It takes the references of captures.
func (t *Trie) attach(parent *node, tokens []int32, captures []*cache.Snapshot) *node {
	n := &node{parent: parent, tokens: slices.Clone(tokens), end: parent.end + len(tokens), children: map[int32]*node{}}
	t.put(n, captures)
	parent.children[tokens[0]] = n
	return n
}

// cut puts a node into the midst of n's edge, behind its first count tokens,
// and returns it. It has the rows of these and no state.
func (t *Trie) cut(s *mlx.Scope, n *node, count int) (*node, error) {
	heads, tails, err := t.split(s, n.captures, n.start()+count)
	if err != nil {
		return nil, err
	}
	tokens := n.tokens
	release(t.take(n))
	upper := t.attach(n.parent, tokens[:count], heads)
	upper.used, upper.kind, upper.file = n.used, n.kind, n.file
	n.parent, n.tokens = upper, slices.Clone(tokens[count:])
	t.put(n, tails)
	upper.children[n.tokens[0]] = n
	return upper, nil
}

// split returns the captures of an edge that is cut at a position, beside
// captures: rows are cut, states belong to the part behind.
func (t *Trie) split(s *mlx.Scope, captures []*cache.Snapshot, at int) (heads, tails []*cache.Snapshot, err error) {
	heads, tails = make([]*cache.Snapshot, len(captures)), make([]*cache.Snapshot, len(captures))
	for i, p := range captures {
		switch {
		case p == nil:
		case t.exact[i]:
			tails[i] = p.Retain()
		default:
			heads[i], tails[i], err = p.Split(s, at)
		}
		if err != nil {
			release(heads)
			release(tails)
			return nil, nil, err
		}
	}
	return heads, tails, nil
}

// merge takes n out of the trie, whose only child gets its rows. Its state is
// given up.
func (t *Trie) merge(s *mlx.Scope, n *node) error {
	var child *node
	for _, child = range n.children {
	}
	all := make([]*cache.Snapshot, len(n.captures))
	for i, p := range n.captures {
		var err error
		switch {
		case child.captures[i] == nil:
		case t.exact[i]:
			all[i] = child.captures[i].Retain()
		case p != nil:
			all[i], err = p.Join(s, child.captures[i])
		}
		if err != nil {
			release(all)
			return err
		}
	}
	release(t.take(n))
	release(t.take(child))
	t.put(child, all)
	child.tokens = slices.Concat(n.tokens, child.tokens)
	child.parent = n.parent
	n.parent.children[child.tokens[0]] = child
	return nil
}

// common returns how many tokens a and b share from the first on.
func common(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Close releases everything. Paths of sequences in flight lead nowhere from
// here on.
func (t *Trie) Close(s *mlx.Scope) {
	t.closed = true
	if t.store != nil {
		t.store.flush()
	}
	var walk func(n *node)
	walk = func(n *node) {
		for _, child := range n.children {
			walk(child)
		}
		release(t.take(n))
	}
	walk(t.root)
	t.root = &node{children: map[int32]*node{}}
	for _, p := range t.parked {
		p.stack.Free(s)
	}
	t.parked = nil
}
