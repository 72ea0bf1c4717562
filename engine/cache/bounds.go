package cache

import (
	"fmt"

	"tandem/engine/mlx"
)

// Bounds divide the positions that a query of a bounded layer attends. A query at position q has
//
//	own rows       at positions below Sink, and in (q-Window, q]
//	restored rows  at all positions between
//
// A layer with a window of its own attends the last Reach positions alone, by either kind of rows.
// The division is by query, so the layer stays causal, and no chunking of a text changes it.
type Bounds struct {
	Sink   int // first positions
	Window int // last positions, that of the query included
	Reach  int // positions that the layer looks back, its own included; 0 = all
}

// Bounds that are usual.
const (
	DefaultSink   = 4
	DefaultWindow = 64
)

// Limits of the bounds of a layer.
const (
	MaxSink      = 1 << 10
	MaxOwnWindow = 1 << 13
)

// Check refuses bounds that no cache keeps.
func (b Bounds) Check() error {
	switch {
	case b.Sink < 0 || b.Sink > MaxSink:
		return fmt.Errorf("cache: a sink of %d rows is not between 0 and %d", b.Sink, MaxSink)
	case b.Window < 1 || b.Window > MaxOwnWindow:
		return fmt.Errorf("cache: a window of %d rows is not between 1 and %d", b.Window, MaxOwnWindow)
	case b.Reach < 0:
		return fmt.Errorf("cache: a layer cannot look back %d positions", b.Reach)
	}
	return nil
}

// reached returns the lowest position that a query at position q attends by any row.
func (b Bounds) reached(q int) int {
	if b.Reach == 0 {
		return 0
	}
	return max(0, q-b.Reach+1)
}

// A boundsKey names the mask of own or of restored rows, which layers of one kind share in a
// forward.
type boundsKey struct {
	Bounds
	restored         bool
	from, to, length int
	ring             int
}

// mask returns the (n, length) bool mask of queries at positions [from, to). Each call of add names
// positions [first, last) that the query at q attends, and slot says where a position lies.
func (b Bounds) mask(s *mlx.Scope, key boundsKey, slot func(p int) int,
	attended func(q int, add func(first, last int))) *mlx.Array {
	return s.Memo(key, func() *mlx.Array {
		n := key.to - key.from
		mask := make([]bool, n*key.length)
		for i := range n {
			row := mask[i*key.length : (i+1)*key.length]
			attended(key.from+i, func(first, last int) {
				for p := max(first, b.reached(key.from+i)); p < last; p++ {
					row[slot(p)] = true
				}
			})
		}
		return mlx.New(s, mask, n, key.length)
	})
}
