package draft

import (
	"tandem/engine/cache"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A Drafter proposes for one target model. It and its drafts are used on the
// MLX thread only; but Name, Taps and MaxDrafts may be called anywhere, and Peek
// wherever nothing else is done with its draft.
type Drafter interface {
	// Name is how requests and run history call it: dflash, ngram, model.
	Name() string

	// Taps lists the target layers, ascending, whose outputs its drafts want
	// to be told of; nil if none.
	Taps() []int

	// MaxDrafts is the most tokens one proposal can hold.
	MaxDrafts() int

	// Open begins a request. A nil Draft has nothing to go by in it.
	Open(s *mlx.Scope, o Options) (Draft, error)
}

// Options of the draft of one request.
type Options struct {
	Prompt     []int32
	From       int             // tokens of Prompt that Committed will not tell of: they were restored
	Context    cache.Stack     // of a Keeper, with the rows of these, which the draft takes, but for those of windows; nil if they are lost
	Prediction []int32         // what the client expects to be generated, or nil; see the drafter of that name
	Sampler    *sample.Sampler // draws proposals; the request's own
	Caches     cache.Options
}

// A Keeper is a drafter whose drafts have a context that can be kept beside the
// target's state, and restored with it: what its rewindable caches hold, for what
// a window holds comes back by itself. Without it a draft begins where the target
// was restored, and guesses by little.
type Keeper interface {
	Drafter

	// NewContext makes the empty caches of one draft's context, a row a
	// position.
	NewContext(o cache.Options) cache.Stack
}

// A Kept draft is one of a Keeper.
type Kept interface {
	Draft

	// Keep returns what the context holds of the committed positions [from,
	// to), a snapshot a rewindable cache, or nil if it lacks some of them.
	Keep(s *mlx.Scope, from, to int) ([]*cache.Snapshot, error)
}

// A Draft guesses how one request goes on.
type Draft interface {
	// Propose returns at most n >= 1 tokens that may follow history, the
	// request's tokens so far. Everything before the last of them was
	// committed. It may return none. Errors go to the scope.
	Propose(s *mlx.Scope, history []int32, n int) Proposal

	// Committed says that the target evaluated tokens at positions from on,
	// which follow those of the last call, and kept them. taps holds the
	// outputs of the layers Taps names, (len(tokens), H) each; they belong to
	// s, and a draft that needs them later keeps them.
	Committed(s *mlx.Scope, tokens []int32, from int, taps []*mlx.Array)

	// Arrays lists what the draft's state consists of, for Eval: it has to be
	// among what is kept wherever a proposal or a committed run is evaluated.
	Arrays() []*mlx.Array

	// Free ends the draft.
	Free(s *mlx.Scope)
}

// A Follower is a draft that reads the text by itself, and may be behind: of what
// was restored it has read nothing. Until it is level it has nothing to propose.
type Follower interface {
	Draft

	// Behind returns how many tokens there are to follow, 0 if it is level: a
	// few that a proposal takes in by the way do not count. It is called
	// wherever nothing else is done with the draft.
	Behind() int

	// Follow reads some of them, as many as a cache takes at once, and leaves
	// Arrays to be evaluated.
	Follow(s *mlx.Scope)
}

// A Proposal is a run of guessed tokens.
type Proposal struct {
	N      int
	Tokens *mlx.Array // (N) int32 of the scope, may be unevaluated; nil if N is 0

	// LogQ is the processed distribution each token was drawn from, (N, V)
	// unnormalised log-probabilities in float32; nil if the tokens are certain
	// guesses.
	LogQ *mlx.Array
}
