// Package lm says what a language model is to the engine. It is the seam between two sides:
// architectures compute, and the engine decides when. It is small, and imported by both.
package lm

import (
	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// A Sequence is a run of adjacent tokens of one request.
//
// Padding makes forwards of one shape out of runs of any length. Its rows are computed like
// others, but their results are not used, and the engine trims them off the caches once the
// graph is built. A layer that cannot be trimmed must not take them in: a recurrent state
// stays as it was before the last Pad rows.
//
// Apart asks for attention whose result does not depend on the other rows: each row attends
// by itself, over the keys up to its own. Attention that has this property for rows together, as
// [mlx.Scope.TiledAttention] has, takes them together.
type Sequence struct {
	Tokens *mlx.Array    // (N) int32, may be unevaluated
	N      int           // number of tokens, padding included
	Pad    int           // of N, padding at the end
	Pos    int           // absolute position of the first token
	Apart  bool          // attend each row by itself, see above
	Caches []cache.Cache // of this request, as NewCaches makes them, all at offset Pos

	// Bounded has an entry for each cache of a bounded layer, nil for others. A nil slice bounds no
	// layer. See [Restorable].
	Bounded []*Bounded

	// Record, unless nil, takes the keys and values of the attention layers, by cache.
	Record []KV
}

// BoundedAt returns the entry of a cache, nil if its layer is not bounded.
func (q *Sequence) BoundedAt(cache int) *Bounded {
	if q.Bounded == nil {
		return nil
	}
	return q.Bounded[cache]
}

// A Batch is evaluated by one forward. Linear layers run on the rows of all sequences, rope and
// attention on each sequence by itself.
type Batch []Sequence

// Rows returns the number of tokens in the batch.
func (b Batch) Rows() int {
	n := 0
	for _, q := range b {
		n += q.N
	}
	return n
}

// Output is the result of a forward.
type Output struct {
	Hidden *mlx.Array   // (rows, H) after the final norm, sequences in order
	Taps   []*mlx.Array // (rows, H) outputs of the layers asked for, in that order
}

// Config is what the engine needs to know of a model.
type Config struct {
	VocabSize     int
	HiddenSize    int
	Layers        int
	ContextLength int     // positions the model was made for
	EOS           []int32 // ids that end a generation
	Dtype         mlx.Dtype
}

// A Model computes hidden states and logits. It is used on the MLX thread only. Errors go to the
// scope.
type Model interface {
	// Forward evaluates the batch, appends to its caches and returns the hidden states, with the
	// outputs of the layers named in taps. The layer after the last one stands for the hidden states.
	Forward(s *mlx.Scope, b Batch, taps []int) Output

	// Unembed turns hidden states (rows, H) into logits (rows, V), in the model's own type.
	Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array

	// NewCaches makes the empty caches of one sequence, in the order of the layers. A layer that keeps
	// nothing has none.
	NewCaches(opts cache.Options) []cache.Cache

	Config() Config

	// Free releases the weights.
	Free()
}

// An Embedder is a model that lends its token embedding and its head to a drafter that has none.
type Embedder interface {
	// Embed returns the embedding (n, H) of tokens (n) as it is stored.
	Embed(s *mlx.Scope, tokens *mlx.Array) *mlx.Array

	// EmbedScale is the factor by which Forward multiplies the embedding, 1 for most models.
	EmbedScale() float64

	// Head returns the products (rows, V) of hidden states (rows, H) with the head's matrix. Unembed
	// may scale or cap them besides.
	Head(s *mlx.Scope, hidden *mlx.Array) *mlx.Array
}
