package lm

import (
	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// KV are keys and values (1, KV, n, D) of an attention layer, as its projections make them: before
// norms and rotary embedding.
type KV struct{ K, V *mlx.Array }

// A Bounded is what a bounded layer attends in a forward beside its window rows, whose cache is a
// [cache.SinkWindow]. Its arrays belong to the scope.
type Bounded struct {
	// KV are restored for the positions of the sequence. The layer applies its norms and its rotary
	// embedding to them and appends them to Bank. If Bank is nil, nothing is restored.
	KV
	Bank *cache.Bank

	// Runs are what the queries of the layer attend. Layers without keys of their own attend the same.
	Runs []cache.Run

	// Restored counts rows that the layer has appended to Bank. Attended counts queries that attended
	// rows of it, in this layer and in those that share its keys.
	Restored, Attended int
}

// KVBytes are the sizes of the live arrays that caches hold.
type KVBytes struct {
	Exact    int64 // every row of exact layers, and states
	Window   int64 // window rows of bounded layers; they do not grow with the text
	Restored int64 // restored rows of bounded layers, and the room before them; see cache.Divided
	Source   int64 // what restoring goes on from: the caches of the drafter's layers
}

// Total returns the sum.
func (b KVBytes) Total() int64 { return b.Exact + b.Window + b.Restored + b.Source }

// A BoundedModel is a model some of whose layers are bounded. In other models every row is exact.
type BoundedModel interface {
	// Bytes measures the caches of one text, which NewCaches made.
	Bytes(caches []cache.Cache) KVBytes
}

// A KVShape says what the rows of an attention layer look like. The zero value is that of a layer
// whose keys and values cannot be restored.
type KVShape struct {
	Heads, Dim int
	Window     int // positions that the layer looks back, its own included; 0 = all
}

// Row returns the elements of the keys of one position.
func (k KVShape) Row() int { return k.Heads * k.Dim }

// A Restorable is a model whose attention layers honour Sequence.Bounded and Sequence.Record.
type Restorable interface {
	// KVShapes returns the shape of each cache's rows, as far as it has one, in the order of
	// NewCaches. It is empty if no layer honours them.
	KVShapes() []KVShape
}
