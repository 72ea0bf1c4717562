package checkpoint

import (
	"errors"
	"slices"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// Load adds the edges of a store to the trie; their rows are read when they are needed. New edges
// are written to that store from now on. The caller owns the store and closes it after the trie.
func (t *Trie) Load(s *mlx.Scope, store *Store) error {
	t.store, t.tombstones, t.loading = store, store.tombstones, true
	defer func() { t.loading = false }()
	for _, h := range store.files() {
		captures := t.captures(h)
		if captures == nil {
			continue
		}
		n, err := t.nodeAt(s, h.Tokens[:h.From])
		if err != nil || n == nil {
			release(captures)
			if err != nil {
				return err
			}
			continue // the text before the edge is lost
		}
		p := &Path{trie: t, label: Label{Run: h.Run}}
		p.moveTo(n)
		err = p.Extend(s, h.Tokens[h.From:], captures)
		if p.node.file == "" && err == nil {
			p.node.file, p.node.kind = idOf(h.path), h.Kind
		}
		p.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// captures returns the captures of a file, or nil if they do not fit the caches of this trie.
func (t *Trie) captures(h found) []*cache.Snapshot {
	if h.Needed != t.needed || h.Needed > len(h.Spans) {
		return nil
	}
	spans := h.Spans
	if h.Context != t.store.o.Context || len(spans) != len(t.exact) {
		// of another drafter
		spans = slices.Concat(spans[:t.needed], make([]*span, len(t.exact)-t.needed))
	}
	list := make([]*cache.Snapshot, len(spans))
	for i, span := range spans {
		switch {
		case span == nil && (t.exact[i] || i >= t.needed):
		case span == nil, span.To != len(h.Tokens), !t.exact[i] && span.From != h.From:
			release(list)
			return nil
		default:
			list[i] = cache.NewStored(span.From, span.To, stored{h.path, h.Key, i})
		}
	}
	return list
}

// nodeAt returns the node where a text ends, or nil if the trie does not know the text. It cuts an edge
// where the text ends inside one.
func (t *Trie) nodeAt(s *mlx.Scope, tokens []int32) (*node, error) {
	n := t.root
	for len(tokens) > 0 {
		child := n.children[tokens[0]]
		if child == nil {
			return nil, nil
		}
		count := common(child.tokens, tokens)
		if count < len(child.tokens) {
			if count < len(tokens) {
				return nil, nil
			}
			return t.splitEdge(s, child, count)
		}
		n, tokens = child, tokens[count:]
	}
	return n, nil
}

// queueWrite queues the file of a new node. If the nodes before it have no file, it queues theirs first,
// and stops where that fails.
func (t *Trie) queueWrite(s *mlx.Scope, n *node, run int64) (err error) {
	if t.store == nil || t.loading {
		return nil
	}
	if n.parent != t.root && t.file(n.parent) == "" {
		if err := t.queueWrite(s, n.parent, run); err != nil || n.parent.file == "" {
			return err
		}
	}
	h := header{Parent: n.parent.file, Kind: n.kind, Run: run, Tokens: n.sequence(), From: n.start(),
		Needed: t.needed}
	n.file, err = t.store.queueWrite(s, h, n.captures)
	return err
}

// file returns the id of a node's file, or "" if it has none or the file was deleted.
func (t *Trie) file(n *node) string {
	if n.file != "" && t.store != nil && t.store.isMissing(n.file) {
		n.file = ""
	}
	return n.file
}

// releaseWritten releases the captures that have been written.
func (t *Trie) releaseWritten() {
	if t.store != nil {
		t.store.releaseWritten()
	}
}

// sequence returns the tokens up to the end of a node.
func (n *node) sequence() []int32 {
	if n.parent == nil {
		return nil
	}
	return slices.Concat(n.parent.sequence(), n.tokens)
}

// removeUnreadable removes what could not be restored up to n: the node whose file the error names, and all
// nodes after it. If the error names no file, it begins at the first node that is only on disk.
func (t *Trie) removeUnreadable(s *mlx.Scope, n *node, err error) {
	damaged, ok := errors.AsType[*DamagedError](err)
	var first *node
	for ; n != t.root; n = n.parent {
		if ok && n.file == idOf(damaged.Path) || !ok &&
			slices.ContainsFunc(n.captures, func(p *cache.Snapshot) bool {
				return p != nil &&
					p.Stored() && p.Bytes() == 0 && !p.Lazy()
			}) {
			first = n
		}
	}
	if first == nil {
		return
	}
	for _, p := range slices.Clone(t.parked) {
		if p.node.isAtOrAfter(first) {
			t.freeParked(s, p)
		}
	}
	if first.inUse() {
		return // a later failure removes it
	}
	delete(first.parent.children, first.tokens[0])
	t.releaseSubtree(first)
}

// isAtOrAfter reports whether n is another node or after it.
func (n *node) isAtOrAfter(other *node) bool {
	for ; n != nil; n = n.parent {
		if n == other {
			return true
		}
	}
	return false
}

// inUse reports whether a sequence is at n or after it.
func (n *node) inUse() bool {
	if n.refs > 0 {
		return true
	}
	for _, child := range n.children {
		if child.inUse() {
			return true
		}
	}
	return false
}

// releaseSubtree releases the captures of a node and of all nodes after it.
func (t *Trie) releaseSubtree(n *node) {
	release(t.takeCaptures(n))
	for _, child := range n.children {
		t.releaseSubtree(child)
	}
}
