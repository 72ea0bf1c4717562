package draft

import (
	"tandem/engine/mlx"
	"tandem/engine/texts"
)

// A Memory drafts what followed the last tokens in the client's earlier prompts and answers,
// Options.Texts. To a request without them it proposes nothing. Its proposals have no distribution:
// LogQ is nil.
//
// The longest suffix wins, in the memory or in the request's own text. Of two equally long ones the
// request's own wins. On source and prose no other rule gave more tokens per verify.
//
// An Ngram drafts from the request's own text. Where its draft is among Options.Lookups, a Memory
// proposes only if its match is longer. So the acceptance of each is learned separately, and the
// text is indexed once.
type Memory struct{ weightless }

// Name implements Drafter.
func (Memory) Name() string { return "memory" }

// Open begins a request. Its draft is a *memoryDraft.
func (Memory) Open(_ *mlx.Scope, o Options) (Draft, error) {
	if o.Texts == nil {
		return nil, nil
	}
	d := &memoryDraft{texts: o.Texts, buffer: make([]int32, 0, MaxDepth)}
	d.find = d.lookUp
	for _, l := range o.Lookups {
		if ngram, ok := l.(*ngramDraft); ok {
			d.ngram = ngram
			return d, nil
		}
	}
	d.ngram, d.alone = newNgramDraft(), true
	return d, nil
}

// A memoryDraft is the Memory's draft of one request.
type memoryDraft struct {
	lookedUp
	texts  *texts.Use
	ngram  *ngramDraft // of the request's own text
	alone  bool        // ngram is not the Ngram's draft, so what it finds is proposed here
	buffer []int32     // reused; separate memory, because C reads it
}

// lookUp returns what may follow history.
func (d *memoryDraft) lookUp(history []int32) ([]int32, Features) {
	d.ngram.search(history)
	list, m := d.texts.Find(history, d.buffer, MaxDepth, d.ngram.features.Match)
	switch {
	case len(list) > 0:
		return list, Features{m.Length, m.Count, m.Share}
	case d.alone:
		return d.ngram.found, d.ngram.features
	}
	return nil, Features{}
}
