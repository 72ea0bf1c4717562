package draft

import (
	"tandem/engine/mlx"
	"tandem/engine/texts"
)

// A Memory drafts what followed the last tokens in the client's earlier prompts and answers,
// Options.Texts. To a request without them it proposes nothing. Its proposals are certain guesses:
// LogQ is nil.
//
// The longest suffix wins, in the memory or in the request's own text, where both are equally long
// in the request's own: on source and prose that gave more tokens per verify than either alone, or
// than any other way to settle between them. Beside an Ngram, which drafts from the request's own
// text and whose draft is among Options.Lookups, a Memory proposes only where its match is the
// longer one. So each learns how good its own guesses are, and the text is indexed once.
type Memory struct{}

// Name returns memory.
func (Memory) Name() string { return "memory" }

// Taps returns nil.
func (Memory) Taps() []int { return nil }

// MaxDrafts returns the drafts that a block of the largest size holds.
func (Memory) MaxDrafts() int { return MaxDepth }

// Open begins a request. Its draft is a *memoryDraft.
func (Memory) Open(_ *mlx.Scope, o Options) (Draft, error) {
	if o.Texts == nil {
		return nil, nil
	}
	d := &memoryDraft{texts: o.Texts, buffer: make([]int32, 0, MaxDepth)}
	for _, l := range o.Lookups {
		if own, ok := l.(*ngramDraft); ok {
			d.own = own
			return d, nil
		}
	}
	d.own, d.alone = newNgramDraft(), true
	return d, nil
}

// A memoryDraft is the Memory's draft of one request.
type memoryDraft struct {
	texts *texts.Use
	own   *ngramDraft // of the request's own text
	alone bool        // own is no other's draft, so what it finds is proposed here

	searched int // length of the history that found and features belong to
	found    []int32
	features Features
	buffer   []int32 // reused; memory of its own, because C reads it
}

// Peek implements Peeker.
func (d *memoryDraft) Peek(history []int32, n int) int {
	d.search(history)
	return min(n, len(d.found))
}

// Features implements Featured.
func (d *memoryDraft) Features(history []int32) Features {
	d.search(history)
	return d.features
}

// Propose implements Draft.
func (d *memoryDraft) Propose(s *mlx.Scope, history []int32, n int) Proposal {
	return certain(s, d.propose(history, n))
}

// Guess implements Guesser.
func (d *memoryDraft) Guess(history []int32, n int) []int32 { return d.propose(history, n) }

func (d *memoryDraft) propose(history []int32, n int) []int32 {
	n = d.Peek(history, n)
	return d.found[:n:n]
}

// search finds what may follow history, at most MaxDepth tokens.
func (d *memoryDraft) search(history []int32) {
	if d.searched == len(history) {
		return
	}
	d.searched = len(history)
	d.own.search(history)
	list, m := d.texts.Find(history, d.buffer, MaxDepth, d.own.features.Match)
	switch {
	case len(list) > 0:
		d.found, d.features = list, Features{m.Length, m.Count, m.Share}
	case d.alone:
		d.found, d.features = d.own.found, d.own.features
	default:
		d.found, d.features = nil, Features{}
	}
}

// Committed implements Draft. The history is enough.
func (d *memoryDraft) Committed(*mlx.Scope, []int32, int, []*mlx.Array) {}

// Arrays implements Draft.
func (d *memoryDraft) Arrays() []*mlx.Array { return nil }

// Free implements Draft.
func (d *memoryDraft) Free(*mlx.Scope) {}
