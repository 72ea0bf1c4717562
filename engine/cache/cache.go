// Package cache holds what layers carry from row to row, keys and values or the
// state of a recurrence: taking in rows, dropping the newest, and snapshots that
// restore an earlier state.
//
// A cache belongs to one sequence. Its buffers are written in place, which
// MLX does only while nothing else refers to them: evaluate Arrays in the
// scope of each Update, and keep no View beyond it. Snapshots are lazy ranges
// for that reason (see [Snapshot]). MLX decides whether to copy when a graph is
// dispatched, and work still running holds its inputs. So the graph of the
// next Update may be built while the last one runs, but has to be dispatched
// after it has finished: otherwise each step copies the whole buffer.
package cache

import "tandem/engine/mlx"

// Layout says how sliding-window layers keep their rows.
type Layout string

const (
	Ring Layout = "ring" // a ring of window-1+slack rows (default)
	Full Layout = "full" // every row, masked to the window
)

// MaxBlock is the largest number of rows that can be rolled back at once: a
// verify block, or the one row of a plain step in flight.
const MaxBlock = 32

// MaxChunk is the largest number of rows one forward may append.
const MaxChunk = 512

// Options of the caches a model makes for one sequence.
type Options struct {
	Layout Layout // zero means Ring
	Chunk  int    // most rows of one forward; zero means MaxChunk
	Rows   int    // see Cache.Expect
}

// MaxRows returns the most rows that one Update of any cache made by these
// options takes.
func (o Options) MaxRows() int {
	if o.Chunk <= 0 || o.Chunk > MaxChunk {
		return MaxChunk
	}
	return max(o.Chunk, MaxBlock)
}

// New makes the empty cache of a layer whose queries attend the last window
// positions, their own included; all of them if window is 0.
func New(opts Options, window int) Attention {
	var c Attention = NewKV(window)
	if window > 0 && opts.Layout != Full {
		c = NewRotating(window, opts.Chunk)
	}
	c.Expect(opts.Rows)
	return c
}

// A Cache holds the state of one layer for one sequence. What a layer writes
// and reads is its own affair: see [Attention] and [Recurrent]. Like all MLX
// state it is used on the MLX thread only. After an error in the scope its
// contents are undefined and it can only be freed.
type Cache interface {
	// Offset returns the number of positions written, which is the position
	// of the next row.
	Offset() int

	// Expect says how many positions the sequence can come to have, beyond
	// which nothing is reserved ahead; 0 if that is not known. What is reserved
	// already stays.
	Expect(positions int)

	// Trim drops the newest n rows in O(1). It fails, changing nothing, if
	// the rows before them are no longer held. Captures of dropped rows that
	// were not taken yet are undone and scheduled again.
	Trim(n int) error

	// NeedsExact reports whether the cache can be restored only to positions
	// that were captured, rather than anywhere inside a snapshot.
	NeedsExact() bool

	// Schedule asks for a capture at each offset, ascending and beyond
	// Offset, taken as Update writes across it; Captured hands over what was
	// captured since, in order, and forgets offsets not reached. Of caches
	// that keep every row a capture spans the rows from the previous one's
	// end on, the first those from position from, at most Offset.
	Schedule(from int, offsets ...int) error
	Captured() []*Snapshot

	// Snapshot captures the state at Offset; for caches that keep every row,
	// the rows from the given position on.
	Snapshot(s *mlx.Scope, from int) (*Snapshot, error)

	// Restore replaces the contents with those of adjacent snapshots in
	// ascending order, up to position to, which is the end of the last
	// snapshot where NeedsExact holds. The snapshots stay valid. What cannot
	// be restored is refused and changes nothing; but after an error of a
	// Source the cache can only be freed.
	Restore(s *mlx.Scope, snapshots []*Snapshot, to int) error

	// Arrays returns the live buffers, for Eval, with what the last Update or
	// Restore copied out.
	Arrays() []*mlx.Array

	// Bytes returns the size of the live buffers.
	Bytes() int64

	// Free releases the buffers. Snapshots taken from it stay valid: lazy
	// ones are copied out first, which evaluates: other arrays of s die, as
	// in Scope.Eval.
	Free(s *mlx.Scope)
}

// An Attention is the cache of an attention layer.
type Attention interface {
	Cache

	// Update appends n rows k (1, KV, n, D) and v (1, KV, n, Dv) and returns
	// what the n queries at those positions attend. The arrays of the view
	// belong to s.
	Update(s *mlx.Scope, k, v *mlx.Array) View
}

// A View is what queries attend after an Update.
type View struct {
	K, V *mlx.Array // (1, KV, S, D)

	// Mask is (n, S) bool, true = attend; nil means every query attends all
	// S rows, or the causal part of them if Causal is set.
	Mask   *mlx.Array
	Causal bool
}
