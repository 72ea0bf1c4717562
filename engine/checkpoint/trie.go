package checkpoint

import (
	"slices"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// A Trie holds the states of texts; see the package comment. It is used on the MLX thread.
type Trie struct {
	budget int64
	exact  []bool // by cache: whether it needs exact restore points
	needed int    // the target's caches, without which nothing can be restored; a draft's follow
	root   *node
	parked []*parked // in the order in which they were parked
	bytes  int64     // of copied snapshots
	clock  int64     // counts uses
	closed bool

	tombstones *tombstones
	store      *Store // nil if everything is in memory only
	loading    bool   // from the store
}

// A node is the end of an edge.
type node struct {
	parent   *node
	tokens   []int32 // of the edge; empty at the root
	end      int     // position after the edge
	children map[int32]*node
	captures []*cache.Snapshot // by cache; or nil; empty at the root
	kind     Kind              // of the tokens when they were added
	run      int64             // Label.Run of the sequence that added them
	// id of the edge's file, written or queued, or ""
	file string
	refs int   // sequences at this node, in flight and parked
	used int64 // clock of the last use
}

// New makes an empty trie for stacks like stack and for draft contexts like context, which may be
// empty. It keeps neither. budget bounds the bytes in memory. It panics if a context needs exact
// restore points.
func New(stack, context cache.Stack, budget int64) *Trie {
	t := &Trie{budget: budget, needed: len(stack), root: &node{children: map[int32]*node{}},
		tombstones: new(tombstones)}
	for _, c := range slices.Concat(stack, context) {
		t.exact = append(t.exact, c.NeedsExact())
	}
	if slices.Contains(t.exact[t.needed:], true) {
		panic("checkpoint: the context of a draft needs exact restore points")
	}
	return t
}

// NeedsExact reports whether texts can be restored only at the positions of their captures.
func (t *Trie) NeedsExact() bool { return slices.Contains(t.exact, true) }

// start returns the position of the edge's first token.
func (n *node) start() int { return n.end - len(n.tokens) }

// complete reports whether a text can be restored at the end of n.
func (t *Trie) complete(n *node) bool {
	return n == t.root || !slices.Contains(n.captures[:t.needed], nil)
}

// touch marks a node and all nodes before it as used now.
func (t *Trie) touch(n *node) {
	t.clock++
	for ; n != nil; n = n.parent {
		n.used = t.clock
	}
}

// setCaptures gives a node its captures and takes their references.
func (t *Trie) setCaptures(n *node, captures []*cache.Snapshot) {
	n.captures = captures
	for _, p := range captures {
		if p != nil {
			p.Observe(func(bytes int64) { t.bytes += bytes })
		}
	}
}

// takeCaptures removes the captures of a node and returns them. The caller owns the references.
func (t *Trie) takeCaptures(n *node) []*cache.Snapshot {
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

// release drops the references to captures.
func release(captures []*cache.Snapshot) {
	for _, p := range captures {
		if p != nil {
			p.Release()
		}
	}
}

// attach makes a node after parent. It takes the references of captures.
func (t *Trie) attach(parent *node, tokens []int32, captures []*cache.Snapshot) *node {
	n := &node{parent: parent, tokens: slices.Clone(tokens), end: parent.end + len(tokens),
		children: map[int32]*node{}}
	t.setCaptures(n, captures)
	parent.children[tokens[0]] = n
	return n
}

// splitEdge puts a node into the edge of n, after its first count tokens, and returns it. The new node
// has the rows of these tokens and no state.
func (t *Trie) splitEdge(s *mlx.Scope, n *node, count int) (*node, error) {
	heads, tails, err := t.splitCaptures(s, n.captures, n.start()+count)
	if err != nil {
		return nil, err
	}
	tokens := n.tokens
	release(t.takeCaptures(n))
	upper := t.attach(n.parent, tokens[:count], heads)
	upper.used, upper.kind, upper.run, upper.file = n.used, n.kind, n.run, n.file
	n.parent, n.tokens = upper, slices.Clone(tokens[count:])
	t.setCaptures(n, tails)
	upper.children[n.tokens[0]] = n
	return upper, nil
}

// splitCaptures returns the captures of the two parts of an edge that is cut at a position. Rows are cut;
// states belong to the second part. captures stay valid.
func (t *Trie) splitCaptures(s *mlx.Scope, captures []*cache.Snapshot, at int) (heads,
	tails []*cache.Snapshot, err error) {
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

// merge removes n from the trie. Its only child gets its rows; its state is discarded.
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
	release(t.takeCaptures(n))
	release(t.takeCaptures(child))
	t.setCaptures(child, all)
	child.tokens = slices.Concat(n.tokens, child.tokens)
	child.parent = n.parent
	n.parent.children[child.tokens[0]] = child
	return nil
}

// common returns how many first tokens a and b share.
func common(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Close waits for the store to write what is queued, and releases everything. Paths in flight
// record nothing from then on: see Path.Lost.
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
		release(t.takeCaptures(n))
	}
	walk(t.root)
	t.root = &node{children: map[int32]*node{}}
	for _, p := range t.parked {
		p.stack.Free(s)
	}
	t.parked = nil
}
