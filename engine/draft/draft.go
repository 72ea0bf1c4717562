package draft

import (
	"tandem/engine/cache"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/engine/texts"
)

// A Drafter proposes for one target model. It and its drafts are used on the MLX thread only, with
// two exceptions: Name, Taps and MaxDrafts may be called anywhere, and Peek wherever nothing else
// is done with its draft.
type Drafter interface {
	// Name is what requests and the history of runs call it: dflash, dspark, memory, model, mtp,
	// ngram or prediction. A Continued has lookup+ and the name of its trained drafter.
	Name() string

	// Taps lists the target layers, ascending, whose outputs its drafts get, or nil.
	Taps() []int

	// MaxDrafts is the most tokens of one proposal.
	MaxDrafts() int

	// Open begins a request. It returns a nil Draft if it can propose nothing there.
	Open(s *mlx.Scope, o Options) (Draft, error)
}

// Options of the draft of one request.
type Options struct {
	Prompt     []int32
	From       int             // tokens of Prompt that were restored: Committed is not called for them
	Context    cache.Stack     // a Keeper's restored context, which the draft takes, or nil
	Prediction []int32         // tokens that the client expects to be generated, or nil
	Texts      *texts.Use      // what the client's earlier requests said, or nil
	Sampler    *sample.Sampler // draws proposals; the request's own
	Caches     cache.Options

	// Drafts of the same request: the lookups, for a Continued and a Memory, and the draft of a
	// Continued's trained drafter.
	Lookups []Lookup
	Trained Draft

	// Target are the target's own caches of the request. A draft may read their newest rows while
	// it proposes, and must not change them.
	Target cache.Stack
}

// A Keeper is a drafter with a context that can be kept beside the target's state and restored with
// it: the rows of its rewindable caches. The rows of a window come back by themselves. Without its
// context a draft begins where the target was restored, and predicts little from that.
type Keeper interface {
	Drafter

	// NewContext makes the empty caches of one draft's context, with a row for each position.
	NewContext(o cache.Options) cache.Stack
}

// A Kept is a draft of a Keeper.
type Kept interface {
	Draft

	// Keep returns what the context holds of the committed positions [from, to): a snapshot for
	// each rewindable cache, or nil if some positions are missing.
	Keep(s *mlx.Scope, from, to int) ([]*cache.Snapshot, error)
}

// A Draft proposes how one request goes on.
type Draft interface {
	// Propose returns at most n >= 1 tokens that may follow history, the request's tokens so far.
	// It may return an empty proposal. Everything before the last token of history was committed.
	// Errors go to the scope.
	Propose(s *mlx.Scope, history []int32, n int) Proposal

	// Committed adds tokens that the target evaluated at positions from on and kept. They follow
	// the tokens of the last call. taps holds the outputs of the layers that Taps names,
	// (len(tokens), H) each. The arrays belong to s; a draft that needs them later keeps them.
	Committed(s *mlx.Scope, tokens []int32, from int, taps []*mlx.Array)

	// Arrays lists the draft's state, for Eval. Wherever a proposal or a committed run is
	// evaluated, these have to be kept.
	Arrays() []*mlx.Array

	// Free ends the draft.
	Free(s *mlx.Scope)
}

// A Follower is a draft that reads the text by itself and may be behind: it has read nothing of a
// restored text. Until it has caught up it proposes nothing.
type Follower interface {
	Draft

	// Behind returns how many tokens are left to read, or 0 if it has caught up. The few that a
	// proposal reads on the way do not count. It may be called wherever nothing else is done with
	// the draft.
	Behind() int

	// Follow reads some of them, as many as a cache takes in one update. Arrays is then to be
	// evaluated.
	Follow(s *mlx.Scope)
}

// A Proposal is a run of drafted tokens.
type Proposal struct {
	N      int
	Tokens *mlx.Array // (N) int32 of the scope, may be unevaluated; nil if N is 0

	// LogQ has the processed distribution that each token was drawn from, (N, V) unnormalised
	// log-probabilities in float32; nil if the drafter is certain of the tokens.
	LogQ *mlx.Array

	// Confidence is the share of the proposal that the drafter itself takes to be accepted, ()
	// float32 from 0 to 1; nil if it does not say. A LogQ gives it too, but all its V columns have
	// to be read: see Confidence. It costs nothing unless it is evaluated.
	Confidence *mlx.Array
}

// Confidence returns the share of a proposal that is expected to be accepted, by logQ (n, V). It
// takes each draft to be right with the probability of the likeliest token of its row.
func Confidence(s *mlx.Scope, logQ *mlx.Array) *mlx.Array {
	return reach(s, s.Sub(s.Max(logQ, -1, false), s.LogSumExp(logQ, -1, false)))
}

// reach returns the share of a proposal that is accepted if a draft is right with the probability
// whose logarithm is in logs (n).
func reach(s *mlx.Scope, logs *mlx.Array) *mlx.Array {
	sum := s.Sum(s.Exp(s.Cumsum(logs, 0)), 0, false)
	return s.Mul(sum, s.Scalar(1/float64(logs.Dim(0)), mlx.Float32))
}
