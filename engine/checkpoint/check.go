package checkpoint

import (
	"errors"
	"fmt"
)

// Check returns what is wrong with the trie, for tests: snapshots that do not span their edges,
// edges that begin alike, a wrong count of bytes.
func (t *Trie) Check() error {
	var wrong []error
	report := func(format string, args ...any) {
		wrong = append(wrong,
			fmt.Errorf("checkpoint: "+format, args...))
	}
	bytes := int64(0)
	refs := map[*node]int{}
	for _, p := range t.parked {
		refs[p.node]++
	}
	var walk func(n *node)
	walk = func(n *node) {
		if n.refs < refs[n] {
			report("%d sequences are at %d, where %d are parked", n.refs, n.end, refs[n])
		}
		delete(refs, n)
		states, held := 0, 0
		for i, p := range n.captures {
			if t.exact[i] {
				states++
			}
			if p == nil {
				if !t.exact[i] && i < t.needed {
					report("no rows of cache %d from %d to %d", i, n.start(), n.end)
				}
				continue
			}
			bytes += p.Bytes()
			if t.exact[i] {
				held++
			}
			if p.To() != n.end || !t.exact[i] && p.From() != n.start() {
				report("a snapshot of %d to %d on the edge from %d to %d", p.From(), p.To(),
					n.start(), n.end)
			}
		}
		if held != 0 && held != states {
			report("%d of %d states at %d", held, states, n.end)
		}
		if n != t.root && len(n.captures) != len(t.exact) {
			report("%d captures for %d caches", len(n.captures), len(t.exact))
		}
		for first, child := range n.children {
			if len(child.tokens) == 0 || child.tokens[0] != first || child.parent != n ||
				child.start() != n.end {
				report("the edge from %d to %d does not belong after %d", child.start(), child.end,
					n.end)
			}
			walk(child)
		}
	}
	walk(t.root)
	if bytes != t.bytes {
		report("%d bytes are held, %d accounted for", bytes, t.bytes)
	}
	if len(refs) > 0 {
		report("caches are parked at a node that was removed")
	}
	return errors.Join(wrong...)
}
