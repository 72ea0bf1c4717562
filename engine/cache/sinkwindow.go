package cache

import (
	"fmt"

	"tandem/engine/mlx"
)

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
	bounds Bounds
	offset int

	// low is the least position beyond the sink such that all of [low, offset) are held, as in
	// Rotating. The next query attends the positions since offset-(Window-1), hence
	//
	//	first(offset) >= low
	//
	// always.
	low   int
	buf   buffer
	sched schedule
}

// NewSinkWindow makes an empty cache. It panics for bounds that [Bounds.Check] refuses.
func NewSinkWindow(b Bounds) *SinkWindow {
	if err := b.Check(); err != nil {
		panic(err)
	}
	return &SinkWindow{bounds: b, low: b.Sink,
		buf: buffer{sink: b.Sink, ring: b.Window - 1 + MaxBlock, whole: true}}
}

// Offset implements Cache.
func (c *SinkWindow) Offset() int { return c.offset }

// Expect implements Cache. The size does not depend on it.
func (c *SinkWindow) Expect(int) {}

// first returns the lowest position beyond the sink that a query at offset attends.
func (c *SinkWindow) first(offset int) int {
	return max(c.bounds.Sink, offset-(c.bounds.Window-1))
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
	if err := c.buf.fits(k, v); err != nil {
		s.Fail(err)
	}
	n := k.Dim(2)
	if n == 0 || n > MaxBlock {
		s.Fail(fmt.Errorf("cache: update with %d rows; a bounded layer takes 1 to %d at a time",
			n, MaxBlock))
	}
	if s.Err() != nil {
		return false
	}
	c.buf.startScope(s)
	c.buf.write(s, k, v, c.offset)
	c.offset += n
	c.low = max(c.low, c.offset-c.buf.ring)
	c.sched.cross(c.offset, func(_, at int) *Snapshot { return c.snapshot(at) })
	c.buf.copyOut(s, c.offset, c.offset+n) // see Rotating.copyNext
	return true
}

// View implements Attention.
func (c *SinkWindow) View(s *mlx.Scope, n int) View {
	if !shows(s, n, c.offset) {
		return View{}
	}
	if first := c.first(c.offset - n); first < c.low {
		s.Fail(fmt.Errorf("cache: position %d is attended, and the cache holds only those below %d, and %d to %d",
			first, c.bounds.Sink, c.low, c.offset))
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

// snapshot captures the sink, and the window before at. Update may have gone beyond at by no more
// than the slack.
func (c *SinkWindow) snapshot(at int) *Snapshot {
	rows := min(at, c.bounds.Sink+c.bounds.Window-1)
	return c.buf.snapshot(at-rows, at)
}

// Trim implements Cache.
func (c *SinkWindow) Trim(n int) error {
	if n < 0 || n > c.offset {
		return fmt.Errorf("cache: cannot drop %d of %d rows", n, c.offset)
	}
	if first := c.first(c.offset - n); first < c.low {
		return fmt.Errorf("cache: cannot drop %d rows: position %d is attended again and the cache holds only those below %d, and %d to %d; restore a snapshot",
			n, first, c.bounds.Sink, c.low, c.offset)
	}
	c.offset -= n
	c.sched.rewind(c.offset)
	return nil
}

// NeedsExact implements Cache.
func (c *SinkWindow) NeedsExact() bool { return true }

// Schedule implements Cache. A capture holds the sink, and the window before its offset.
func (c *SinkWindow) Schedule(from int, offsets ...int) error {
	return c.sched.set(from, c.offset, offsets)
}

// Captured implements Cache.
func (c *SinkWindow) Captured() []*Snapshot { return c.sched.take() }

// Snapshot implements Cache. It holds the sink, and the window before Offset; from is not used. The
// rows of the sink come first. From counts back from To as if all rows were adjacent.
func (c *SinkWindow) Snapshot(_ *mlx.Scope, from int) (*Snapshot, error) {
	if from < 0 || from > c.offset {
		return nil, fmt.Errorf("cache: no rows from position %d in a cache of %d", from, c.offset)
	}
	return c.snapshot(c.offset), nil
}

// Restore implements Cache. It needs only the last snapshot, whose rows return to their slots.
func (c *SinkWindow) Restore(s *mlx.Scope, snapshots []*Snapshot, to int) error {
	if len(snapshots) == 0 {
		if to != 0 {
			return fmt.Errorf("cache: cannot restore to %d without a snapshot", to)
		}
		c.sched.clear()
		c.offset, c.low = 0, c.bounds.Sink
		return nil
	}
	p := snapshots[len(snapshots)-1]
	if err := p.usable(); err != nil {
		return err
	}
	rows := min(to, c.bounds.Sink+c.bounds.Window-1)
	if p.to != to || p.from != to-rows {
		return fmt.Errorf("cache: a bounded layer can be restored to %d only from a capture there, not from one of positions %d to %d",
			to, p.from, p.to)
	}
	if err := p.fits(&c.buf); err != nil {
		return err
	}
	c.sched.clear()
	c.buf.startScope(s)
	if p.owner != &c.buf && rows > 0 {
		k, v := p.Rows(s)
		if err := c.buf.fitsLoaded(s, k, v); err != nil {
			return err
		}
		done := 0
		for _, h := range c.buf.held(p.from, p.to) {
			n := h.stop - h.start
			c.buf.write(s, s.Slice(k, 2, done, done+n), s.Slice(v, 2, done, done+n), h.start)
			done += n
		}
	}
	c.offset, c.low = to, max(c.bounds.Sink, c.first(to))
	return s.Err()
}

// Arrays implements Cache.
func (c *SinkWindow) Arrays() []*mlx.Array { return c.buf.arrays() }

// Bytes implements Cache.
func (c *SinkWindow) Bytes() int64 { return c.buf.bytes() }

// Free implements Cache.
func (c *SinkWindow) Free(s *mlx.Scope) {
	c.sched.clear()
	c.offset, c.low = 0, c.bounds.Sink
	c.buf.free(s)
}
