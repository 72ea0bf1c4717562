package cache

import (
	"fmt"

	"tandem/engine/mlx"
)

// rows is what all caches of keys and values have.
type rows struct {
	offset int
	buf    buffer
	sched  schedule
}

// Offset implements Cache.
func (c *rows) Offset() int { return c.offset }

// Expect implements Cache. A buffer of one size does not depend on it.
func (c *rows) Expect(positions int) { c.buf.maxRows = positions }

// Schedule implements Cache. In a ring a capture holds what the query at its offset attends.
func (c *rows) Schedule(from int, offsets ...int) error {
	return c.sched.set(from, c.offset, offsets)
}

// Captured implements Cache.
func (c *rows) Captured() []*Snapshot { return c.sched.take() }

// Arrays implements Cache.
func (c *rows) Arrays() []*mlx.Array { return c.buf.arrays() }

// Bytes implements Cache.
func (c *rows) Bytes() int64 { return c.buf.bytes() }

func (c *rows) buffer() *buffer { return &c.buf }

// write appends rows k and v, at most limit unless that is 0. It reports whether they are in.
func (c *rows) write(s *mlx.Scope, k, v *mlx.Array, limit int) bool {
	if err := c.buf.fits(k, v); err != nil {
		s.Fail(err)
	}
	n := k.Dim(2)
	switch {
	case n == 0:
		s.Fail(fmt.Errorf("cache: update with no rows"))
	case limit > 0 && n > limit:
		s.Fail(fmt.Errorf("cache: update with %d rows; %s takes %d at a time", n, c.buf.name(), limit))
	}
	if s.Err() != nil {
		return false
	}
	c.buf.startScope(s)
	c.buf.write(s, k, v, c.offset)
	c.offset += n
	return true
}

// trim drops the newest n rows.
func (c *rows) trim(n int) error {
	if n < 0 || n > c.offset {
		return fmt.Errorf("cache: cannot drop %d of %d rows", n, c.offset)
	}
	c.offset -= n
	c.sched.rewind(c.offset)
	return nil
}

// A ring keeps the rows of the first sink positions, and of the last ones:
//
//	R = window-1 + slack rows
//
// It is what [Rotating], which has no sink, and [SinkWindow] share.
type ring struct {
	rows
	window int
	slack  int // most rows of an update

	// low is the least position beyond the sink such that all of [low, offset) are held. Writing up
	// to end overwrites the rows R before, so low >= end-R for the highest end since the last
	// Restore, trimmed rows included. The next query attends the positions since
	// offset-(window-1), hence
	//
	//	first(offset) >= low
	//
	// always. Trim refuses what would break this.
	low int
}

func newRing(sink, window, slack int) ring {
	return ring{rows: rows{buf: buffer{sink: sink, ring: window - 1 + slack}},
		window: window, slack: slack, low: sink}
}

// first returns the lowest position beyond the sink that a query at offset attends.
func (c *ring) first(offset int) int { return max(c.buf.sink, offset-(c.window-1)) }

// append writes rows. It reports whether they are in. copyNext comes after it.
func (c *ring) append(s *mlx.Scope, k, v *mlx.Array) bool {
	if !c.write(s, k, v, c.slack) {
		return false
	}
	c.low = max(c.low, c.offset-c.buf.ring)
	c.sched.cross(c.offset, func(_, at int) *Snapshot { return c.snapshot(at) })
	return true
}

// copyNext copies out the snapshots whose rows an update with n more rows would overwrite. It does so
// in the evaluation of the last one. In the next one the copy would compete with the write for the
// buffer, and MLX would copy the whole ring.
func (c *ring) copyNext(s *mlx.Scope, n int) { c.buf.copyOut(s, c.offset, c.offset+n) }

// holds returns an error if rows that a query at offset attends are overwritten.
func (c *ring) holds(offset int) error {
	if first := c.first(offset); first < c.low {
		return fmt.Errorf("cache: position %d is attended, and %s holds only %d to %d; restore a snapshot",
			first, c.buf.name(), c.low, c.offset)
	}
	return nil
}

// snapshot captures the sink, and the window before at. Update may have gone beyond at by no more
// than the slack.
func (c *ring) snapshot(at int) *Snapshot { return c.buf.snapshot(at-c.captured(at), at) }

// captured returns how many rows a capture at a position has.
func (c *ring) captured(at int) int { return min(at, c.buf.sink+c.window-1) }

// Trim implements Cache.
func (c *ring) Trim(n int) error {
	if n > 0 && n <= c.offset {
		if err := c.holds(c.offset - n); err != nil {
			return err
		}
	}
	return c.trim(n)
}

// NeedsExact implements Cache.
func (c *ring) NeedsExact() bool { return true }

// Snapshot implements Cache. It holds the sink, and the window before Offset; from is not used. The
// rows of a sink come first. Then From counts back from To as if all rows were adjacent.
func (c *ring) Snapshot(_ *mlx.Scope, from int) (*Snapshot, error) {
	if from < 0 || from > c.offset {
		return nil, fmt.Errorf("cache: no rows from position %d in a cache of %d", from, c.offset)
	}
	return c.snapshot(c.offset), nil
}

// Restore implements Cache. It needs only the last snapshot, whose rows return to their slots.
func (c *ring) Restore(s *mlx.Scope, snapshots []*Snapshot, to int) error {
	if len(snapshots) == 0 {
		if to != 0 {
			return fmt.Errorf("cache: cannot restore to %d without a snapshot", to)
		}
		c.clear()
		return nil
	}
	p := snapshots[len(snapshots)-1]
	if err := p.usable(); err != nil {
		return err
	}
	from := to - c.captured(to)
	if p.to != to || p.from > from || c.buf.sink > 0 && p.from < from {
		return fmt.Errorf("cache: %s can be restored to %d only from a capture there, not from one of positions %d to %d",
			c.buf.name(), to, p.from, p.to)
	}
	if err := p.fits(&c.buf); err != nil {
		return err
	}
	c.sched.clear()
	c.buf.startScope(s)
	if p.owner != &c.buf && to > from {
		k, v := p.Rows(s)
		if err := c.buf.fitsLoaded(s, k, v); err != nil {
			return err
		}
		done := from - p.from
		for _, h := range c.buf.held(from, to) {
			n := h.stop - h.start
			c.buf.write(s, s.Slice(k, 2, done, done+n), s.Slice(v, 2, done, done+n), h.start)
			done += n
		}
	}
	c.offset, c.low = to, c.first(to)
	return s.Err()
}

// clear empties the ring, whose buffer stays.
func (c *ring) clear() {
	c.sched.clear()
	c.offset, c.low = 0, c.buf.sink
}

// Free implements Cache.
func (c *ring) Free(s *mlx.Scope) {
	c.clear()
	c.buf.free(s)
}
