package checkpoint

import (
	"fmt"
	"slices"
	"time"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// A Path is the position of one sequence in flight in a trie. It ends with Close or Park. It is
// used on the MLX thread.
type Path struct {
	// Matched is how many of the sequence's first tokens the trie knew when the path began.
	// Restored is how many of them need not be evaluated.
	Matched, Restored int

	// Divergence says where the text diverges from a text of the trie, or is nil.
	Divergence *Divergence

	// Gone says why the checkpoint of a longer beginning than Restored is gone. Length is how many
	// tokens that beginning has, or 0.
	Gone   string
	Length int

	label  Label
	trie   *Trie
	node   *node // of the last capture, or of the restored text
	source *node // whose edge Restored is inside; nil if it is at a node
}

// A Label says which run the captures of a sequence belong to, and where its answer begins.
type Label struct {
	Run    int64 // the caller's number of the run, or 0
	Prompt int   // tokens before the answer
}

// A Divergence says where a text diverges from a text of the trie: the one used last of all that begin
// alike.
type Divergence struct {
	Kept  int32 // the next token in the text of the trie
	Given int32 // the next token in this text
	Kind  Kind  // of the kept token
	Run   int64 // Label.Run of the end of the text of the trie
}

// divergence returns how a text that continues with given diverges from the texts through an edge's
// token i.
func (n *node) divergence(i int, given int32) *Divergence {
	return &Divergence{Kept: n.tokens[i], Given: given, Kind: n.kind, Run: n.latest().run}
}

// latest returns the end of the whole text through a node that was used last.
func (n *node) latest() *node {
	for next := n.next(); next != nil; next = n.next() {
		n = next
	}
	return n
}

// next returns the child that was used last, or nil.
func (n *node) next() (last *node) {
	for _, child := range n.children {
		if last == nil || child.used > last.used {
			last = child
		}
	}
	return last
}

// Begin looks for a text of at least one token and returns a path positioned at the node to
// restore.
func (t *Trie) Begin(tokens []int32, label Label) *Path {
	t.releaseWritten()
	p := &Path{trie: t, label: label}
	n := t.root
	for p.Matched < len(tokens) {
		child := n.children[tokens[p.Matched]]
		if child == nil {
			if other := n.next(); other != nil {
				p.Divergence = other.divergence(0, tokens[p.Matched])
			}
			break
		}
		count := common(child.tokens, tokens[p.Matched:])
		p.Matched += count
		n = child
		if count < len(child.tokens) {
			if p.Matched < len(tokens) {
				p.Divergence = child.divergence(count, tokens[p.Matched])
			}
			break
		}
	}
	t.touch(n)
	limit := min(p.Matched, len(tokens)-1) // the last token's output is needed
	if t.NeedsExact() {
		for n.end > limit || !t.complete(n) {
			n = n.parent
		}
		p.Restored = n.end
	} else {
		for n.start() >= limit && n != t.root {
			n = n.parent
		}
		if p.Restored = min(limit, n.end); p.Restored < n.end {
			p.source, n = n, n.parent
		}
	}
	if p.Restored < len(tokens)-1 {
		p.Length, p.Gone = t.tombstones.find(tokens, p.Restored)
	}
	p.moveTo(n)
	return p
}

// moveTo moves the path to a node.
func (p *Path) moveTo(n *node) {
	if p.node != nil {
		p.node.refs--
	}
	if p.node = n; n != nil {
		n.refs++
	}
}

// NeedsExact is Trie.NeedsExact.
func (p *Path) NeedsExact() bool { return p.trie.NeedsExact() }

// Scheduled reports whether captures inside a text are useful: for restoring there, or for having
// them on disk if the program ends before the text does.
func (p *Path) Scheduled() bool { return p.trie.NeedsExact() || p.trie.store != nil }

// File returns the id of the last file on the path, and the position up to which the text is in
// files. The id may be "".
func (p *Path) File() (id string, to int) {
	n, t := p.node, p.trie
	if t.closed {
		return "", 0
	}
	for n.parent != nil && t.file(n) == "" {
		n = n.parent
	}
	return n.file, n.end
}

// From returns the position where the rows of the next capture begin.
func (p *Path) From() int { return p.node.end }

// Restore returns caches that hold the first Restored tokens, evaluated; other arrays of s die.
// They are parked caches, or fresh ones filled with rows. The caller owns them. After an error it
// returns nil, Restored is 0, the path is at the beginning of the text, and s is still usable.
func (p *Path) Restore(s *mlx.Scope, fresh func() cache.Stack) (cache.Stack, error) {
	if p.Restored == 0 {
		return fresh(), nil
	}
	began := time.Now()
	last := p.last()
	stack := p.trie.unpark(last)
	if stack == nil {
		stack = fresh()
	}
	err := s.Try(func() error {
		if err := p.fill(s, stack, last); err != nil {
			return err
		}
		return s.Eval(stack.Arrays()...)
	})
	if err != nil {
		stack.Free(s)
		p.trie.tombstones.add(last.end, digestOf(last.sequence()), fmt.Sprintf("could not be read: %v", err))
		p.moveTo(p.trie.root)
		p.trie.removeUnreadable(s, last, err)
		p.Restored, p.source = 0, nil
		p.moveTo(p.trie.root)
		if p.trie.store != nil {
			p.trie.store.discardDamaged(err)
		}
		return nil, err
	}
	if p.trie.store != nil {
		p.trie.store.recordUse(Use{IDs: p.trie.files(last), Tokens: p.Restored, Took: time.Since(began)})
	}
	return stack, nil
}

// files returns the ids of the files with the text up to n, in order.
func (t *Trie) files(n *node) []string {
	if n.parent == nil {
		return nil
	}
	ids := t.files(n.parent)
	// an edge may have been cut
	if id := t.file(n); id != "" && (len(ids) == 0 || ids[len(ids)-1] != id) {
		ids = append(ids, id)
	}
	return ids
}

// last returns the node whose edge Restored is inside, or at the end of.
func (p *Path) last() *node {
	if p.source != nil {
		return p.source
	}
	return p.node
}

// RestoreContext fills the empty context of a draft with the first Restored positions, evaluated.
// It returns false if some of them are missing. Call it before the first Extend. After an error the
// context can only be freed.
func (p *Path) RestoreContext(s *mlx.Scope, context cache.Stack) (bool, error) {
	if p.Restored == 0 || len(context) != len(p.trie.exact)-p.trie.needed {
		return false, nil
	}
	for i, c := range context {
		list := rows(p.last(), p.trie.needed+i)
		if slices.Contains(list, nil) {
			return false, nil
		}
		if err := c.Restore(s, list, p.Restored); err != nil {
			return false, err
		}
	}
	return true, s.Eval(context.Arrays()...)
}

// fill restores each cache from the nodes from the root to last.
func (p *Path) fill(s *mlx.Scope, stack cache.Stack, last *node) error {
	for i, c := range stack {
		var list []*cache.Snapshot
		if p.trie.exact[i] {
			list = append(list, last.captures[i])
		} else {
			list = rows(last, i)
		}
		if err := c.Restore(s, list, p.Restored); err != nil {
			return err
		}
	}
	return nil
}

// rows returns the snapshots of cache i from the root to n, in order.
func rows(n *node, i int) []*cache.Snapshot {
	if n.parent == nil {
		return nil
	}
	return append(rows(n.parent, i), n.captures[i])
}

// Extend adds to the path the tokens with which the sequence went on at position From, and what its
// caches captured after them. A cache that keeps every row captured the rows of exactly these
// tokens; another one captured its state, or nil; the context of a draft captured its rows, or nil.
// Extend takes the references. It may evaluate, evict, and have the store write the edge. It fails
// without tokens, or without one capture for each cache.
func (p *Path) Extend(s *mlx.Scope, tokens []int32, captures []*cache.Snapshot) error {
	t, n := p.trie, p.node
	if t.closed {
		release(captures)
		return nil
	}
	if len(tokens) == 0 || len(captures) != len(t.exact) {
		release(captures)
		return fmt.Errorf("checkpoint: %d captures of %d tokens for %d caches",
			len(captures), len(tokens), len(t.exact))
	}
	for len(tokens) > 0 {
		child := n.children[tokens[0]]
		if child == nil {
			n = t.attach(n, tokens, captures)
			n.kind, n.run = KindPrompt, p.label.Run
			if n.end > p.label.Prompt {
				n.kind = KindAnswer
			}
			if err := t.queueWrite(s, n, p.label.Run); err != nil {
				return err
			}
			break
		}
		count := common(child.tokens, tokens)
		var err error
		if count < len(child.tokens) {
			if child, err = t.splitEdge(s, child, count); err != nil {
				release(captures)
				return err
			}
		}
		n, tokens = child, tokens[count:]
		if len(tokens) == 0 {
			t.fillCaptures(n, captures)
			break
		}
		known, news, err := t.splitCaptures(s, captures, n.end)
		release(captures)
		if err != nil {
			return err
		}
		release(known)
		captures = news
	}
	p.moveTo(n)
	p.source = nil
	t.releaseWritten()
	t.touch(n)
	return t.evict(s)
}

// fillCaptures gives a node the captures that it lacks.
func (t *Trie) fillCaptures(n *node, captures []*cache.Snapshot) {
	if !slices.Contains(n.captures, nil) {
		release(captures)
		return
	}
	all := t.takeCaptures(n)
	for i, p := range all {
		if p == nil {
			all[i], captures[i] = captures[i], nil
		}
	}
	release(captures)
	t.setCaptures(n, all)
}

// Lost reports whether the trie was closed: then later captures are not kept.
func (p *Path) Lost() bool { return p.trie.closed }

// Close ends the path of a sequence. Its caches stay with the caller.
func (p *Path) Close() { p.moveTo(nil) }
