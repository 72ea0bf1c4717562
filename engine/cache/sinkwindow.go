package cache

import "tandem/engine/mlx"

// A SinkWindow keeps the window rows of a bounded layer: of its first positions and of its last. Its
// size does not depend on the length of the text:
//
//	Sink + Window-1 + MaxBlock rows
//
// Position p below Sink is in slot p. Any other is in a ring after the sink, as [Rotating] has it.
// Keys keep the rotation of their position. All slots are there from the first row on, and the mask
// covers each of them. So a query adds up its rows in one order.
//
// MaxBlock rows are slack. They let a block be trimmed again, and they are the most that one Update
// takes. A longer run is written in pieces of MaxBlock rows, so that the slack of a whole chunk is
// not needed.
type SinkWindow struct {
	ring
	bounds Bounds
}

// NewSinkWindow makes an empty cache. It panics for bounds that [Bounds.Check] refuses.
func NewSinkWindow(b Bounds) *SinkWindow {
	if err := b.Check(); err != nil {
		panic(err)
	}
	c := &SinkWindow{newRing(b.Sink, b.Window, MaxBlock), b}
	c.buf.whole = true
	return c
}

// Update implements Attention. It refuses more rows than MaxBlock.
func (c *SinkWindow) Update(s *mlx.Scope, k, v *mlx.Array) View {
	if !c.append(s, k, v) {
		return View{K: k, V: v}
	}
	return c.View(s, k.Dim(2))
}

// append is Update without a view. It reports whether the rows are in.
func (c *SinkWindow) append(s *mlx.Scope, k, v *mlx.Array) bool {
	if !c.ring.append(s, k, v) {
		return false
	}
	c.copyNext(s, k.Dim(2))
	return true
}

// View implements Attention.
func (c *SinkWindow) View(s *mlx.Scope, n int) View {
	if !shows(s, n, c.offset) {
		return View{}
	}
	if err := c.holds(c.offset - n); err != nil {
		s.Fail(err)
		return View{}
	}
	length := c.buf.rows()
	key := boundsKey{Bounds: c.bounds, from: c.offset - n, to: c.offset, slots: length}
	return View{
		K: s.Slice(c.buf.k, 2, 0, length), V: s.Slice(c.buf.v, 2, 0, length),
		Mask: key.mask(s, c.attended),
	}
}

// attended sets the slots of what the query at q attends.
func (c *SinkWindow) attended(row []bool, q int) {
	reached := c.bounds.reached(q)
	c.buf.mark(row, reached, min(c.bounds.Sink, q+1))
	c.buf.mark(row, max(reached, c.first(q)), q+1)
}
