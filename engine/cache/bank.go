package cache

import (
	"tandem/engine/mlx"
)

// A Bank keeps the restored rows of a bounded layer, as they are attended: after norm and rotary
// embedding. A row is restored once and never changes, so a cache that keeps every row holds it. If
// the layer looks back over Reach positions alone, a ring holds them.
//
// Before them it has room for a copy of the layer's window rows. See [Divided].
type Bank struct {
	rowCache
	bounds Bounds
}

// A rowCache is a [KV] or a [Rotating].
type rowCache interface {
	Cache
	append(s *mlx.Scope, k, v *mlx.Array) bool
	copyNext(s *mlx.Scope, n int)
	buffer() *buffer
}

// NewBank makes an empty bank. It panics for bounds that [Bounds.Check] refuses.
func NewBank(opts Options, b Bounds) *Bank {
	if err := b.Check(); err != nil {
		panic(err)
	}
	var rows rowCache = NewKV(b.Reach)
	if b.Reach > 0 && opts.Layout != Full {
		rows = NewRotating(b.Reach, opts.Chunk)
	}
	rows.buffer().front = b.Front()
	rows.Expect(opts.Rows)
	return &Bank{rows, b}
}

// First returns the lowest position whose query attends restored rows.
func (c *Bank) First() int { return c.bounds.Sink + c.bounds.Window }

// Append appends n restored rows k (1, KV, n, D) and v (1, KV, n, Dv). Rows of another shape or type
// fail the scope.
func (c *Bank) Append(s *mlx.Scope, k, v *mlx.Array) { c.append(s, k, v) }

// slots returns how many rows after Front the queries before position to see. It depends on the
// position alone, so a query sees the same number in every chunk.
func (c *Bank) slots(to int) int { return c.bounds.slots(to, c.buffer().ring) }

// slots is Bank.slots for a bank with such a ring.
func (b Bounds) slots(to, ring int) int {
	if ring > 0 {
		return min(to, ring)
	}
	return max(0, to-b.Window)
}

// attended sets the rows that the query at q attends. row begins after Front.
func (c *Bank) attended(row []bool, q int) {
	b := c.bounds
	c.buffer().mark(row, max(b.Sink, b.reached(q)), q-b.Window+1)
}
