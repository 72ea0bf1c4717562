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
type Rotating struct {
	window int
	slack  int
	offset int

	// low is the least position such that all of [low, offset) are held. Writing up to end
	// overwrites the rows R before, so low >= end-R for the highest end since the last Restore,
	// trimmed rows included. The next query attends the positions since offset-(window-1), hence
	//
	//	max(0, offset-(window-1)) >= low
	//
	// always. Trim refuses what would break this.
	low   int
	buf   buffer
	sched schedule
}

// NewRotating makes an empty ring for queries that attend the last window positions, their own
// included, and for updates of at most max(chunk, MaxBlock) rows. A chunk of 0, or one beyond
// MaxChunk, means MaxChunk. It panics for a window below 1.
func NewRotating(window, chunk int) *Rotating {
	if window < 1 {
		panic(fmt.Sprintf("cache: ring for a window of %d", window))
	}
	slack := Options{Chunk: chunk}.MaxRows()
	return &Rotating{window: window, slack: slack, buf: buffer{ring: window - 1 + slack}}
}

// Offset implements Cache.
func (c *Rotating) Offset() int { return c.offset }

// Expect implements Cache.
func (c *Rotating) Expect(positions int) { c.buf.maxRows = positions }

// first returns the lowest position that a query at offset attends.
func (c *Rotating) first(offset int) int { return max(0, offset-(c.window-1)) }

// Update implements Attention. It refuses more rows than the slack.
func (c *Rotating) Update(s *mlx.Scope, k, v *mlx.Array) View {
	if !c.append(s, k, v) {
		return View{K: k, V: v}
	}
	c.copyNext(s, k.Dim(2))
	return c.View(s, k.Dim(2))
}

// append writes rows. It reports whether they are in. copyNext comes after it.
func (c *Rotating) append(s *mlx.Scope, k, v *mlx.Array) bool {
	if err := c.buf.fits(k, v); err != nil {
		s.Fail(err)
	}
	n := k.Dim(2)
	if n == 0 || n > c.slack {
		s.Fail(fmt.Errorf("cache: update with %d rows; a ring takes 1 to %d at a time", n, c.slack))
	}
	if s.Err() != nil {
		return false
	}
	c.buf.copied = nil
	c.buf.write(s, k, v, c.offset)
	c.offset += n
	c.low = max(c.low, c.offset-c.buf.ring)
	c.sched.cross(c.offset, func(_, at int) *Snapshot { return c.snapshot(at) })
	return true
}

// copyNext copies out the snapshots whose rows an update with n more rows would overwrite. It does so
// in the evaluation of the last one. In the next one the copy would compete with the write for the
// buffer, and MLX would copy the whole ring.
func (c *Rotating) copyNext(s *mlx.Scope, n int) { c.buf.copyOut(s, c.offset, c.offset+n) }

// View implements Attention.
func (c *Rotating) View(s *mlx.Scope, n int) View {
	if !showsNext(s, n, c.offset) {
		return View{}
	}
	if first := c.first(c.offset - n); first < c.low {
		s.Fail(fmt.Errorf("cache: position %d is attended, and the ring holds only %d to %d",
			first, c.low, c.offset))
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

// snapshot captures the window before at. Update may have gone beyond at by no more than the slack.
func (c *Rotating) snapshot(at int) *Snapshot { return c.buf.snapshot(c.first(at), at) }

// Trim implements Cache.
func (c *Rotating) Trim(n int) error {
	if n < 0 || n > c.offset {
		return fmt.Errorf("cache: cannot drop %d of %d rows", n, c.offset)
	}
	if first := c.first(c.offset - n); first < c.low {
		return fmt.Errorf("cache: cannot drop %d rows: position %d is attended again and the ring holds only %d to %d; restore a snapshot",
			n, first, c.low, c.offset)
	}
	c.offset -= n
	c.sched.rewind(c.offset)
	return nil
}

// NeedsExact implements Cache.
func (c *Rotating) NeedsExact() bool { return true }

// Schedule implements Cache. A capture holds the window before its offset.
func (c *Rotating) Schedule(from int, offsets ...int) error {
	return c.sched.set(from, c.offset, offsets)
}

// Captured implements Cache.
func (c *Rotating) Captured() []*Snapshot { return c.sched.take() }

// Snapshot implements Cache. It holds the window before Offset; from is not used.
func (c *Rotating) Snapshot(_ *mlx.Scope, from int) (*Snapshot, error) {
	if from < 0 || from > c.offset {
		return nil, fmt.Errorf("cache: no rows from position %d in a cache of %d", from, c.offset)
	}
	return c.snapshot(c.offset), nil
}

// Restore implements Cache. It needs only the last snapshot, whose rows return to their slots.
func (c *Rotating) Restore(s *mlx.Scope, snapshots []*Snapshot, to int) error {
	if len(snapshots) == 0 {
		if to != 0 {
			return fmt.Errorf("cache: cannot restore to %d without a snapshot", to)
		}
		c.sched.clear()
		c.offset, c.low = 0, 0
		return nil
	}
	p := snapshots[len(snapshots)-1]
	if err := p.usable(); err != nil {
		return err
	}
	if p.to != to || p.from > c.first(to) {
		return fmt.Errorf("cache: a ring can be restored to %d only from a capture there, not from one of positions %d to %d",
			to, p.from, p.to)
	}
	if err := p.fits(&c.buf); err != nil {
		return err
	}
	c.sched.clear()
	c.buf.copied = nil
	from := c.first(to)
	if p.owner != &c.buf && to > from {
		k, v := p.Rows(s)
		if err := c.buf.fitsLoaded(s, k, v); err != nil {
			return err
		}
		c.buf.write(s, s.Slice(k, 2, from-p.from, to-p.from), s.Slice(v, 2, from-p.from, to-p.from),
			from)
	}
	c.offset, c.low = to, from
	return s.Err()
}

// Arrays implements Cache.
func (c *Rotating) Arrays() []*mlx.Array { return c.buf.arrays() }

// Bytes implements Cache.
func (c *Rotating) Bytes() int64 { return c.buf.bytes() }

// Free implements Cache.
func (c *Rotating) Free(s *mlx.Scope) {
	c.sched.clear()
	c.offset, c.low = 0, 0
	c.buf.free(s)
}
