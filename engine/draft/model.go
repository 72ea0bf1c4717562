package draft

import (
	"fmt"
	"math"
	"slices"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A Model drafts with a smaller language model that has the target's tokens, one token after the
// other. The chain of a proposal stays lazy: nothing is read between its tokens.
type Model struct {
	model lm.Model
	vocab int // of the target
}

// NewModel makes the drafter of a model for a target. It must have the target's tokens;
// vocabularies may be padded to different sizes. The model belongs to the caller and must outlive
// the drafter.
func NewModel(m, target lm.Model) *Model {
	return &Model{model: m, vocab: target.Config().VocabSize}
}

// Name implements Drafter.
func (d *Model) Name() string { return "model" }

// Taps implements Drafter: it reads the text alone.
func (d *Model) Taps() []int { return nil }

// MaxDrafts implements Drafter.
func (d *Model) MaxDrafts() int { return MaxDepth }

// Continues reports that its drafts can follow other drafts, see CanContinue.
func (*Model) Continues() bool { return true }

// Open implements Drafter. It evaluates nothing: the prompt is read as the target commits it.
func (d *Model) Open(_ *mlx.Scope, o Options) (Draft, error) {
	return &modelDraft{
		Model:   d,
		options: o,
		caches:  d.model.NewCaches(o.Caches),
		waiting: slices.Clone(o.Prompt[:o.From]),
	}, nil
}

// modelDraft is the draft of one request.
type modelDraft struct {
	*Model
	options Options
	caches  cache.Stack
	fed     int     // rows of the caches: committed tokens, then drafts
	waiting []int32 // committed tokens from position fed on, while no drafts are held

	// A chain is forwards of one row. Recurrent layers can take back only the last of them, so they
	// go back to where the chain began. Its accepted tokens are evaluated again, in one forward
	// with the next ones.
	start  int               // position of the chain
	states []*cache.Snapshot // there, of the recurrent caches, or nil
}

// Peek implements Peeker. Beyond its own context the model drafts nothing.
func (t *modelDraft) Peek(history []int32, n int) int {
	if t.Behind() > 0 {
		return 0
	}
	return max(0, min(n, t.model.Config().ContextLength-len(history)))
}

// Committed implements Draft. Rejected drafts are trimmed immediately. Tokens wait until they are
// enough for a forward.
func (t *modelDraft) Committed(s *mlx.Scope, tokens []int32, from int, _ []*mlx.Array) {
	have, end := t.fed+len(t.waiting), from+len(tokens)
	if end > t.model.Config().ContextLength {
		return // no proposal will be asked for any more
	}
	if from > have {
		s.Fail(fmt.Errorf("draft: tokens at position %d follow %d", from, have))
		return
	}
	if t.fed > end {
		t.trimRows(s, t.fed-end)
		have = t.fed
	}
	level := t.Behind() == 0
	if have < end {
		t.waiting = append(t.waiting, tokens[have-from:]...)
	}
	if level && t.Behind() > 0 {
		t.evaluate(s, t.waiting)
		t.waiting = nil
	}
}

// Behind implements Follower. Beyond the model's own context it is 0.
func (t *modelDraft) Behind() int {
	if n := len(t.waiting); n >= contextRows && t.fed+n <= t.model.Config().ContextLength {
		return n
	}
	return 0
}

// Follow implements Follower.
func (t *modelDraft) Follow(s *mlx.Scope) {
	n := min(t.Behind(), t.options.Caches.MaxRows())
	t.evaluate(s, t.waiting[:n])
	t.waiting = t.waiting[n:]
}

// trimRows takes back the newest n rows, or with recurrent layers the whole chain they belong to.
func (t *modelDraft) trimRows(s *mlx.Scope, n int) {
	if t.states != nil {
		n = t.fed - t.start
	}
	states := t.states
	for _, c := range t.caches {
		var err error
		if _, ok := c.(*cache.Recurrent); ok {
			err = c.Restore(s, states[:1], t.start)
			states = states[1:]
		} else {
			err = c.Trim(n)
		}
		if err != nil {
			s.Fail(err)
			return
		}
	}
	t.fed -= n
}

// saveStates notes where a chain begins, if there are recurrent layers.
func (t *modelDraft) saveStates(s *mlx.Scope) {
	t.releaseStates()
	t.start = t.fed
	for _, c := range t.caches {
		if _, ok := c.(*cache.Recurrent); !ok {
			continue
		}
		p, err := c.Snapshot(s, 0)
		if err != nil {
			s.Fail(err)
			return
		}
		t.states = append(t.states, p)
	}
}

// releaseStates releases the states.
func (t *modelDraft) releaseStates() {
	for _, p := range t.states {
		p.Release()
	}
	t.states = nil
}

// evaluate evaluates tokens at the positions after those in the caches. It does so in runs that the
// caches take. It returns the hidden state (1, H) of the last token.
func (t *modelDraft) evaluate(s *mlx.Scope, tokens []int32) (hidden *mlx.Array) {
	vocab := t.model.Config().VocabSize
	for _, id := range tokens {
		if int(id) >= vocab {
			s.Fail(fmt.Errorf("draft: token %d is not one of the drafter's %d", id, vocab))
			return nil
		}
	}
	for len(tokens) > 0 {
		n := min(len(tokens), t.options.Caches.MaxRows())
		hidden = t.forward(s, mlx.New(s, tokens[:n], n), n)
		hidden = s.Slice(hidden, 0, n-1, n)
		tokens = tokens[n:]
	}
	return hidden
}

// forward evaluates n tokens, which may be unevaluated.
func (t *modelDraft) forward(s *mlx.Scope, tokens *mlx.Array, n int) *mlx.Array {
	out := t.model.Forward(s, lm.Batch{{Tokens: tokens, N: n, Pos: t.fed, Caches: t.caches}}, nil)
	t.fed += n
	return out.Hidden
}

// Propose implements Draft. history may end with tokens of another draft: the chain goes on after
// them.
func (t *modelDraft) Propose(s *mlx.Scope, history []int32, n int) Proposal {
	n = t.Peek(history, min(n, t.MaxDrafts()))
	if n == 0 {
		return Proposal{}
	}
	newest := t.fed + len(t.waiting) // the position of the first token that is not committed
	if len(history) <= newest {
		s.Fail(fmt.Errorf("draft: a proposal at position %d after %d tokens", len(history), newest))
		return Proposal{}
	}
	hidden := t.evaluate(s, history[t.fed:newest+1])
	t.waiting = nil
	t.saveStates(s)
	if drafted := history[newest+1:]; len(drafted) > 0 {
		hidden = t.evaluate(s, drafted)
	}
	drafts := chain{sampler: t.options.Sampler, pos: len(history)}
	for i := range n {
		if s.Err() != nil {
			return Proposal{}
		}
		next := drafts.draw(s, t.logits(s, hidden))
		if i+1 < n {
			hidden = t.forward(s, next, 1)
		}
	}
	return drafts.proposal(s)
}

// logits returns the logits of a hidden state (1, H) over the target's vocabulary, (1, V) in
// float32. Ids that only one of the two models has are padding.
func (t *modelDraft) logits(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	x := s.AsType(t.model.Unembed(s, hidden), mlx.Float32)
	switch n := x.Dim(1); {
	case n > t.vocab:
		return s.Slice(x, 1, 0, t.vocab)
	case n < t.vocab:
		return s.Concat(1, x, s.BroadcastTo(s.Scalar(math.Inf(-1), mlx.Float32), 1, t.vocab-n))
	}
	return x
}

// Arrays implements Draft.
func (t *modelDraft) Arrays() []*mlx.Array { return t.caches.Arrays() }

// Free implements Draft.
func (t *modelDraft) Free(s *mlx.Scope) {
	t.releaseStates()
	t.caches.Free(s)
}
