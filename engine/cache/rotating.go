package cache

import (
	"fmt"

	"tandem/engine/mlx"
)

// A Rotating is the ring of a sliding-window layer. It keeps
//
//	R = window-1 + slack rows, slack = max(chunk, MaxBlock)
//
// and position p is in slot p mod R, from the first row on. An Update first writes its rows, then
// queries attend the ring in slot order, under a mask made from absolute positions. So every way of
// cutting a text into updates adds up the same numbers in the same order. The slack allows the
// newest rows to be dropped: writing n <= slack rows overwrites no row that the first of them
// attends.
type Rotating struct{ ring }

// NewRotating makes an empty ring for queries that attend the last window positions, their own
// included, and for updates of at most max(chunk, MaxBlock) rows. A chunk of 0, or one beyond
// MaxChunk, means MaxChunk. It panics for a window below 1.
func NewRotating(window, chunk int) *Rotating {
	if window < 1 {
		panic(fmt.Sprintf("cache: ring for a window of %d", window))
	}
	return &Rotating{newRing(0, window, Options{Chunk: chunk}.MaxRows())}
}

// Update implements Attention. It refuses more rows than the slack.
func (c *Rotating) Update(s *mlx.Scope, k, v *mlx.Array) View {
	if !c.append(s, k, v) {
		return View{K: k, V: v}
	}
	c.copyNext(s, k.Dim(2))
	return c.View(s, k.Dim(2))
}

// View implements Attention.
func (c *Rotating) View(s *mlx.Scope, n int) View {
	if !showsNext(s, n, c.offset) {
		return View{}
	}
	if err := c.holds(c.offset - n); err != nil {
		s.Fail(err)
		return View{}
	}
	rows := min(c.offset, c.buf.ring)
	view := View{K: s.Slice(c.buf.k, 2, 0, rows), V: s.Slice(c.buf.v, 2, 0, rows)}
	switch {
	case c.offset > c.window || n == 0 && c.offset == c.window:
		view.Mask = windowMask(s, c.window, c.buf.ring, c.offset-n, n)
	case n > 1:
		view.Causal = true
	}
	return view
}
