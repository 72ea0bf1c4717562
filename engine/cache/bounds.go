package cache

import (
	"fmt"

	"tandem/engine/mlx"
)

// Bounds divide the positions that a query of a bounded layer attends. A query at position q has
//
//	window rows       at positions below Sink, and in (q-Window, q]
//	restored rows  at all positions between
//
// A sliding-window layer attends only the last Reach positions, in either kind of rows. The
// division is by query, so the layer stays causal, and no chunking of a text changes it.
type Bounds struct {
	Sink   int // first positions
	Window int // last positions, the query's included
	Reach  int // positions that the layer looks back, its own included; 0 = all
}

// Bounds that are usual.
const (
	DefaultSink   = 4
	DefaultWindow = 64
)

// Limits of the bounds of a layer.
const (
	MaxSink   = 1 << 10
	MaxWindow = 1 << 13
)

// Check refuses bounds that no cache keeps.
func (b Bounds) Check() error {
	switch {
	case b.Sink < 0 || b.Sink > MaxSink:
		return fmt.Errorf("cache: a sink of %d rows is not between 0 and %d", b.Sink, MaxSink)
	case b.Window < 1 || b.Window > MaxWindow:
		return fmt.Errorf("cache: a window of %d rows is not between 1 and %d", b.Window, MaxWindow)
	case b.Reach < 0:
		return fmt.Errorf("cache: a layer cannot look back %d positions", b.Reach)
	}
	return nil
}

// tile is how many keys attention on the CPU takes together, see mlx.Scope.TiledAttention.
const tile = 64

// WindowRows returns how many window rows a bounded layer keeps, however long a text is.
func (b Bounds) WindowRows() int { return b.Sink + b.Window - 1 + MaxBlock }

// Front returns how many rows a [Bank] has before the rows of position 0: WindowRows, filled up to
// whole tiles.
func (b Bounds) Front() int { return (b.WindowRows() + tile - 1) / tile * tile }

// Divides reports whether there are positions between, which needs a layer that looks back further
// than the window.
func (b Bounds) Divides() bool { return b.Reach == 0 || b.Reach > b.Window }

// reached returns the lowest position that a query at position q attends by any row.
func (b Bounds) reached(q int) int {
	if b.Reach == 0 {
		return 0
	}
	return max(0, q-b.Reach+1)
}

// A boundsKey names the mask of queries at positions [from, to), which layers of one kind share in a
// forward.
type boundsKey struct {
	Bounds
	from, to int
	slots    int // of window rows, and of restored rows
	blocks   int // of window rows, see Divided; 0 = window rows only
	ring     int // of the bank
	ordered  bool
}

// mask returns the (to-from, slots) bool mask. attended sets the slots that the query at q attends.
func (b boundsKey) mask(s *mlx.Scope, attended func(row []bool, q int)) *mlx.Array {
	return s.Memo(b, func() *mlx.Array {
		n := b.to - b.from
		mask := make([]bool, n*b.slots)
		for i := range n {
			attended(mask[i*b.slots:(i+1)*b.slots], b.from+i)
		}
		return mlx.New(s, mask, n, b.slots)
	})
}

// mark sets the rows of positions [first, last), which may be empty. row begins after front.
func (b *buffer) mark(row []bool, first, last int) {
	if first >= last {
		return
	}
	for _, w := range b.spans(first, last) {
		for i := w.start - b.front; i < w.stop-b.front; i++ {
			row[i] = true
		}
	}
}
