package draft

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// An AssistantModel is the network of an assistant: it drafts a token from the one before it, from
// a hidden state, and from the keys and values of the target. Packages of architectures implement
// it.
type AssistantModel interface {
	// Forward predicts what follows a token (1), which may be unevaluated, from the hidden state
	// (1, H) before it. It reads the newest rows of the target's caches and does not change them.
	// It returns logits (1, V), and a hidden state (1, H) for the next row.
	Forward(s *mlx.Scope, token, hidden *mlx.Array,
		target []cache.Cache) (logits, next *mlx.Array)
}

// An Assistant drafts one token after the other with a network that attends the target's keys and
// values. Its only state is the target's last hidden state. The chain of a proposal stays lazy:
// nothing is read between its tokens.
//
// Where carried tokens are not in the target's caches yet, it attends the rows before them, and
// drafts slightly worse.
//
// While its work runs, it holds the buffers of the caches that it reads. So the next write to each
// of these copies it, if that work is not finished.
type Assistant struct {
	chained
	model AssistantModel
}

// NewAssistant makes the drafter of a network for its target. Both belong to the caller and must
// outlive it.
func NewAssistant(m AssistantModel, target lm.Model) *Assistant {
	return &Assistant{chained{target}, m}
}

// Open implements Drafter.
func (d *Assistant) Open(_ *mlx.Scope, o Options) (Draft, error) {
	return &assistant{Assistant: d, options: o}, nil
}

// assistant is the draft of one request.
type assistant struct {
	*Assistant
	options Options
	last    *mlx.Array // (1, H) the target's hidden state at the last committed position, kept
	end     int        // position after it
}

// Committed implements Draft.
func (t *assistant) Committed(s *mlx.Scope, tokens []int32, from int, taps []*mlx.Array) {
	t.end = from + len(tokens)
	t.last.Free()
	t.last = s.Keep(s.Slice(taps[0], 0, len(tokens)-1, len(tokens)))
}

// Propose implements Draft.
func (t *assistant) Propose(s *mlx.Scope, history []int32, n int) Proposal {
	if t.last == nil || len(history) <= t.end {
		return Proposal{} // nothing was committed
	}
	n = min(n, t.MaxDrafts())
	hidden := t.last
	for i := t.end; i < len(history)-1; i++ { // before known drafts
		_, hidden = t.model.Forward(s, mlx.New(s, history[i:i+1], 1), hidden, t.options.Target)
	}
	next := mlx.New(s, history[len(history)-1:], 1)
	drafts := chain{sampler: t.options.Sampler, pos: len(history)}
	for range n {
		var logits *mlx.Array
		logits, hidden = t.model.Forward(s, next, hidden, t.options.Target)
		if s.Err() != nil {
			return Proposal{}
		}
		next = drafts.draw(s, s.AsType(logits, mlx.Float32))
	}
	return drafts.proposal(s)
}

// Arrays implements Draft.
func (t *assistant) Arrays() []*mlx.Array {
	if t.last == nil {
		return nil
	}
	return []*mlx.Array{t.last}
}

// Free implements Draft.
func (t *assistant) Free(*mlx.Scope) {
	t.last.Free()
	t.last = nil
}
