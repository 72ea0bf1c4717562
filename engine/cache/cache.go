// Package cache holds what layers carry from row to row: keys and values, or the state of a
// recurrence. A cache appends rows, trims the newest, and captures snapshots that restore an
// earlier state.
//
// A cache belongs to one sequence. MLX writes its buffers in place, but only while nothing else
// refers to them. So evaluate Arrays in the scope of each Update, and keep no View beyond that
// scope. Snapshots are lazy ranges for the same reason (see [Snapshot]).
//
// MLX decides whether to copy when a graph is dispatched, and running work holds its inputs. So the
// graph of the next Update may be built while the last one runs. Dispatch it only after the last
// one has finished: otherwise each step copies the whole buffer.
package cache

import "tandem/engine/mlx"

// A Layout says how sliding-window layers keep their rows.
type Layout string

const (
	Ring Layout = "ring" // a ring of window-1+slack rows (default)
	Full Layout = "full" // every row, masked to the window
)

// MaxBlock is the most rows that one Trim can drop: a verify block, or the one row of a plain step
// in flight.
const MaxBlock = 32

// MaxChunk is the most rows that one forward may append.
const MaxChunk = 512

// Options of the caches that a model makes for one sequence. The zero value is usable.
type Options struct {
	Layout Layout // zero means Ring
	Chunk  int    // most rows of one forward; zero means MaxChunk
	Rows   int    // positions the sequence can come to have; see Cache.Expect

	// Bits is what an element takes in the caches of layers that attend all positions: 4, 8, or 0 for
	// rows as they are written. See [Quantized].
	Bits int

	// Group is how many elements share a scale, 32 or 64. Zero means [GroupSize] of a row. Rows
	// whose size is not a multiple of it are refused.
	Group int
}

// MaxRows returns the most rows that one Update takes, for any cache made by these options.
func (o Options) MaxRows() int {
	if o.Chunk <= 0 || o.Chunk > MaxChunk {
		return MaxChunk
	}
	return max(o.Chunk, MaxBlock)
}

// New makes the empty cache of a layer whose queries attend the last window positions, their own
// included. If window is 0 they attend all positions.
func New(opts Options, window int) Attention {
	var c Attention
	switch {
	case window == 0 && opts.Bits > 0:
		q := NewQuantized(opts.Bits)
		q.group = opts.Group
		c = q
	case window > 0 && opts.Layout != Full:
		c = NewRotating(window, opts.Chunk)
	default:
		c = NewKV(window)
	}
	c.Expect(opts.Rows)
	return c
}

// A Cache holds the state of one layer for one sequence. [Attention] and [Recurrent] say what a
// layer writes and reads. A Cache is used on the MLX thread only. After an error in the scope its
// contents are undefined; then the caller can only free it.
type Cache interface {
	// Offset returns the number of positions written: the position of the next row.
	Offset() int

	// Expect sets how many positions the sequence can come to have, or 0 if that is not known.
	// Beyond them the cache reserves no room ahead. Room reserved before stays.
	Expect(positions int)

	// Trim drops the newest n rows in O(1). It fails and changes nothing if the rows before them
	// are no longer held. Captures of dropped rows that were not taken yet are undone and scheduled
	// again.
	Trim(n int) error

	// NeedsExact reports whether the cache can be restored only to positions that were captured.
	// Other caches can be restored to any position inside a snapshot.
	NeedsExact() bool

	// Schedule asks for a capture at each offset. Offsets are ascending and beyond Offset; Update
	// takes each capture as it writes across the offset. In caches that keep every row, a capture
	// holds the rows since the previous one. The first capture holds the rows since position from,
	// which is at most Offset. Schedule fails while captures are scheduled.
	Schedule(from int, offsets ...int) error

	// Captured returns the captures taken since Schedule, in order, and clears the offsets that
	// were not reached. The caller owns the references.
	Captured() []*Snapshot

	// Snapshot captures the state at Offset. Caches that keep every row capture the rows since
	// position from. The caller releases the snapshot.
	Snapshot(s *mlx.Scope, from int) (*Snapshot, error)

	// Restore replaces the contents with adjacent snapshots in ascending order, up to position to.
	// Where NeedsExact holds, to is the end of the last snapshot. The snapshots stay valid. If it
	// refuses them, nothing changes; after an error of a Source the cache can only be freed.
	Restore(s *mlx.Scope, snapshots []*Snapshot, to int) error

	// Arrays returns the arrays that Eval needs: the live buffers, and the rows that the last
	// Update or Restore copied out.
	Arrays() []*mlx.Array

	// Bytes returns the size of the live buffers in bytes.
	Bytes() int64

	// Free releases the buffers. Snapshots of the cache stay valid: lazy ones are copied out first.
	// That evaluates, so other arrays of s die, as in Scope.Eval.
	Free(s *mlx.Scope)
}

// An Attention is the cache of an attention layer.
type Attention interface {
	Cache

	// Update appends n rows k (1, KV, n, D) and v (1, KV, n, Dv) and returns what the n queries at
	// these positions attend. The arrays of the view belong to s. Rows of another shape or type
	// fail the scope.
	Update(s *mlx.Scope, k, v *mlx.Array) View

	// View returns what queries at the newest n positions attend, as the Update that appended them
	// did. Layers without keys use it to attend another layer's. For n = 0 it returns what the
	// query at the next position attends of the rows so far; a SinkWindow does not support it. Rows
	// that are not held fail the scope. The view of a failed scope is empty.
	View(s *mlx.Scope, n int) View
}

// A View is what n queries attend after an Update.
type View struct {
	K, V *mlx.Array // (1, KV, S, D), or (1, KV, S, words) if they are quantized

	// Quantized says how; nil if K and V are not quantized. See Dequantize.
	Quantized *RowFormats

	// Mask is (n, S) bool, true = attend. If it is nil, every query attends all S rows, or their
	// causal part if Causal is set.
	Mask   *mlx.Array
	Causal bool
}

// RowFormats says how keys and values are quantized.
type RowFormats struct{ K, V mlx.RowFormat }

// Dequantize returns a view whose rows are not quantized. They are made in s, in the type that they were
// written in.
func (v View) Dequantize(s *mlx.Scope) View {
	if v.Quantized == nil || s.Err() != nil {
		return v
	}
	v.K, v.V = s.DequantizeRows(v.K, v.Quantized.K), s.DequantizeRows(v.V, v.Quantized.V)
	v.Quantized = nil
	return v
}
