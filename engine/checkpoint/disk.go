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
	t.store, t.gone, t.loading = store, store.gone, true
	defer func() { t.loading = false }()
	for _, h := range store.files() {
		captures := t.captures(h)
		if captures == nil {
			continue
		}
		n, err := t.at(s, h.Tokens[:h.From])
		if err != nil || n == nil {
			release(captures)
			if err != nil {
				return err
			}
			continue // the text before the edge is lost
		}
		p := &Path{trie: t, label: Label{Run: h.Run}}
		p.stand(n)
		err = p.Extend(s, h.Tokens[h.From:], captures)
		if p.node.file == "" && err == nil {
			p.node.file, p.node.kind = idOf(h.path), h.Kind
		}
		p.Leave()
		if err != nil {
			return err
		}
	}
	return nil
}

// captures returns the captures of a file, nil if they do not fit the caches of this trie.
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

// at returns the node where a text ends, nil if the trie does not know the text. It cuts an edge
// where the text ends inside one.
func (t *Trie) at(s *mlx.Scope, tokens []int32) (*node, error) {
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
			return t.cut(s, child, count)
		}
		n, tokens = child, tokens[count:]
	}
	return n, nil
}

// offer has the store write a new node. If the nodes before it have no file, offer has them written
// first, and gives up where that fails.
func (t *Trie) offer(s *mlx.Scope, n *node, run int64) (err error) {
	if t.store == nil || t.loading {
		return nil
	}
	if n.parent != t.root && t.file(n.parent) == "" {
		if err := t.offer(s, n.parent, run); err != nil || n.parent.file == "" {
			return err
		}
	}
	h := header{Parent: n.parent.file, Kind: n.kind, Run: run, Tokens: n.text(), From: n.start(),
		Needed: t.needed}
	n.file, err = t.store.offer(s, h, n.captures)
	return err
}

// file returns the id of a node's file, empty if it has none or its file is gone.
func (t *Trie) file(n *node) string {
	if n.file != "" && t.store != nil && t.store.misses(n.file) {
		n.file = ""
	}
	return n.file
}

// settle releases the captures that have been written.
func (t *Trie) settle() {
	if t.store != nil {
		t.store.settle()
	}
}

// text returns the tokens up to the end of a node.
func (n *node) text() []int32 {
	if n.parent == nil {
		return nil
	}
	return slices.Concat(n.parent.text(), n.tokens)
}

// prune removes what could not be restored up to n: the node whose file the error is about, and all
// nodes after it. If the error is about no file, it begins at the first node that is on disk only.
func (t *Trie) prune(s *mlx.Scope, n *node, err error) {
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
			t.free(s, p)
		}
	}
	if first.standing() {
		return // a later failure prunes it
	}
	delete(first.parent.children, first.tokens[0])
	t.drop(first)
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

// standing reports whether a sequence stands at n or after it.
func (n *node) standing() bool {
	if n.stands > 0 {
		return true
	}
	for _, child := range n.children {
		if child.standing() {
			return true
		}
	}
	return false
}

// drop releases the captures of a node and of all nodes after it.
func (t *Trie) drop(n *node) {
	release(t.take(n))
	for _, child := range n.children {
		t.drop(child)
	}
}
