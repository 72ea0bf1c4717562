package draft

import (
	"fmt"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A Head is a target's head for multi-token prediction. It predicts what follows a token from the
// token and the target's hidden state before it. Packages of architectures implement it.
type Head interface {
	// NewCaches makes the caches of one request. They have a row for each token of a text, the first
	// one included.
	NewCaches(opts cache.Options) []cache.Cache

	// Begin appends the first row of empty caches, which nothing attends.
	Begin(s *mlx.Scope, caches []cache.Cache)

	// Forward appends n rows from pos on. A row is made of a token of tokens (n), which may be
	// unevaluated, and of the hidden state before it, in hidden (n, H). It returns hidden states
	// (n, H), for the target's Unembed and for the next row.
	Forward(s *mlx.Scope, tokens, hidden *mlx.Array, pos int, caches []cache.Cache) *mlx.Array
}

// An MTP drafts one token after the other with a target's head for multi-token prediction. The chain
// of a proposal stays lazy: nothing is read between its tokens.
//
// A context has a row for each committed token, made of the token and of the target's hidden state
// before it. The rows of a chain, whose hidden states are the head's own, are dropped with the
// proposal: accepted tokens get the target's.
type MTP struct {
	chained
	head Head
}

// NewMTP makes the drafter of a head for its target. Both belong to the caller and must outlive it.
func NewMTP(head Head, target lm.Model) *MTP { return &MTP{chained{target}, head} }

// NewContext implements Keeper.
func (d *MTP) NewContext(o cache.Options) cache.Stack { return d.head.NewCaches(o) }

// Open implements Drafter.
func (d *MTP) Open(_ *mlx.Scope, o Options) (Draft, error) {
	t := &mtp{MTP: d, options: o, caches: o.Context, end: o.From}
	if t.caches == nil {
		t.caches, t.first = d.head.NewCaches(o.Caches), o.From
	}
	return t, nil
}

// mtp is the draft of one request.
type mtp struct {
	*MTP
	options Options
	caches  cache.Stack
	first   int // position of the context's first row
	end     int // position after its last row, waiting ones not counted

	// last is the target's hidden state (1, H) at the last committed position, kept. It is nil where
	// that position was restored.
	last *mlx.Array

	// Rows that wait to become context: tokens, and kept runs (n, H) of the hidden states before them.
	waiting []int32
	runs    []*mlx.Array
}

// Committed implements Draft.
func (t *mtp) Committed(s *mlx.Scope, tokens []int32, from int, taps []*mlx.Array) {
	if have := t.end + len(t.waiting); from != have {
		s.Fail(fmt.Errorf("draft: tokens at position %d follow a context of %d", from, have))
		return
	}
	hidden, n := taps[0], len(tokens)
	before := t.last
	if before == nil {
		before = s.Zeros(hidden.Dtype(), 1, hidden.Dim(1))
	} else {
		s.Adopt(before)
	}
	last := s.Slice(hidden, 0, n-1, n)
	if n > 1 {
		before = s.Concat(0, before, s.Slice(hidden, 0, 0, n-1))
	}
	if from == t.first && len(t.waiting) == 0 && t.caches[0].Offset() == 0 {
		t.head.Begin(s, t.caches)
		tokens, before = tokens[1:], s.Slice(before, 0, 1, n)
		t.end++
	}
	t.last = s.Keep(last)
	switch {
	case len(tokens) == 0:
	case len(t.waiting) == 0 && len(tokens) >= contextRows:
		t.write(s, tokens, before)
	default:
		t.waiting = append(t.waiting, tokens...)
		t.runs = append(t.runs, s.Keep(before))
		if len(t.waiting) >= contextRows {
			t.flush(s)
		}
	}
}

// Keep implements Kept. Waiting rows become context first.
func (t *mtp) Keep(s *mlx.Scope, from, to int) ([]*cache.Snapshot, error) {
	if t.first > 0 {
		return nil, nil // snapshots say positions
	}
	if len(t.waiting) > 0 {
		t.flush(s)
		if err := s.Eval(t.Arrays()...); err != nil {
			return nil, err
		}
	}
	return keepRows(s, t.caches, from, to)
}

// flush turns waiting rows into context.
func (t *mtp) flush(s *mlx.Scope) {
	tokens, hidden := t.takeWaiting(s)
	t.write(s, tokens, hidden)
}

// takeWaiting hands over the waiting rows. There is at least one.
func (t *mtp) takeWaiting(s *mlx.Scope) (tokens []int32, hidden *mlx.Array) {
	for _, run := range t.runs {
		s.Adopt(run)
	}
	tokens, hidden = t.waiting, s.Concat(0, t.runs...)
	t.waiting, t.runs = nil, nil
	return tokens, hidden
}

// write appends rows of context, in runs that the caches take.
func (t *mtp) write(s *mlx.Scope, tokens []int32, hidden *mlx.Array) {
	chunk := t.options.Caches.MaxRows()
	for from := 0; from < len(tokens); from += chunk {
		to := min(from+chunk, len(tokens))
		t.head.Forward(s, mlx.New(s, tokens[from:to], to-from), s.Slice(hidden, 0, from, to), t.end-1,
			t.caches)
		t.end += to - from
	}
}

// Propose implements Draft.
func (t *mtp) Propose(s *mlx.Scope, history []int32, n int) Proposal {
	pos := t.end + len(t.waiting) // of the newest token, and of known drafts after it
	if len(history) <= pos {
		s.Fail(fmt.Errorf("draft: a chain at position %d after a context of %d", len(history)-1, pos))
		return Proposal{}
	}
	known := history[pos+1:]
	n = min(n, t.MaxDrafts()-len(known))
	if t.last == nil || n <= 0 {
		return Proposal{} // nothing was committed, or the chain is as long as it may be
	}
	if len(t.waiting)+1 > cache.MaxBlock {
		t.flush(s)
	}
	// Waiting rows, and the row of the newest token.
	tokens, hidden := history[pos:pos+1], t.last
	if len(t.waiting) > 0 {
		_, rows := t.takeWaiting(s)
		hidden = s.Concat(0, rows, t.last)
		tokens = history[t.end : pos+1]
	}
	x := t.head.Forward(s, mlx.New(s, tokens, len(tokens)), hidden, t.end-1, t.caches)
	x = s.Slice(x, 0, len(tokens)-1, len(tokens))
	t.end = pos
	for i := range known {
		x = t.head.Forward(s, mlx.New(s, known[i:i+1], 1), x, pos+i, t.caches)
	}
	drafts := chain{sampler: t.options.Sampler, pos: len(history)}
	for i := range n {
		if s.Err() != nil {
			return Proposal{}
		}
		next := drafts.draw(s, s.AsType(t.target.Unembed(s, x), mlx.Float32))
		if i+1 < n {
			x = t.head.Forward(s, next, x, len(history)-1+i, t.caches)
		}
	}
	// The rows of the newest token, of known drafts, and of all drafts but the last.
	if err := t.caches.Trim(len(known) + n); err != nil {
		s.Fail(err)
	}
	return drafts.proposal(s)
}

// Arrays implements Draft.
func (t *mtp) Arrays() []*mlx.Array {
	list := t.caches.Arrays()
	if t.last != nil {
		list = append(list, t.last)
	}
	if n := len(t.runs); n > 0 {
		list = append(list, t.runs[n-1]) // those before it were listed, and evaluated
	}
	return list
}

// Free implements Draft.
func (t *mtp) Free(s *mlx.Scope) {
	t.caches.Free(s)
	for _, run := range t.runs {
		run.Free()
	}
	t.last.Free()
	t.waiting, t.runs, t.last = nil, nil, nil
}
