package cache

import (
	"fmt"

	"tandem/engine/mlx"
)

// A KV keeps every row, position p in row p. With a window it serves a sliding-window layer in
// Layout Full: the same rows, masked.
type KV struct {
	rows
	window int // 0 = none
}

// NewKV makes an empty cache that keeps every row. Queries attend the last window positions, their
// own included, or all positions if window is 0.
func NewKV(window int) *KV { return &KV{window: window} }

// Update implements Attention. The number of rows is not bounded.
func (c *KV) Update(s *mlx.Scope, k, v *mlx.Array) View {
	if !c.append(s, k, v) {
		return View{K: k, V: v}
	}
	return c.View(s, k.Dim(2))
}

// append is Update without a view. It reports whether the rows are in.
func (c *KV) append(s *mlx.Scope, k, v *mlx.Array) bool {
	if !c.write(s, k, v, 0) {
		return false
	}
	c.sched.cross(c.offset, c.buf.snapshot)
	return true
}

// copyNext does nothing. No later row takes the place of an earlier one.
func (c *KV) copyNext(*mlx.Scope, int) {}

// View implements Attention.
func (c *KV) View(s *mlx.Scope, n int) View {
	if !showsNext(s, n, c.offset) {
		return View{}
	}
	view := View{K: s.Slice(c.buf.k, 2, 0, c.offset), V: s.Slice(c.buf.v, 2, 0, c.offset)}
	switch {
	case c.window > 0 && (c.offset > c.window || n == 0 && c.offset == c.window):
		view.Mask = windowMask(s, c.window, 0, c.offset-n, n)
	case n > 1:
		view.Causal = true
	}
	return view
}

// Trim implements Cache. It can drop any number of rows.
func (c *KV) Trim(n int) error { return c.trim(n) }

// NeedsExact implements Cache.
func (c *KV) NeedsExact() bool { return false }

// Snapshot implements Cache.
func (c *KV) Snapshot(_ *mlx.Scope, from int) (*Snapshot, error) {
	if from < 0 || from > c.offset {
		return nil, fmt.Errorf("cache: no rows from position %d in a cache of %d", from, c.offset)
	}
	return c.buf.snapshot(from, c.offset), nil
}

// Restore implements Cache. The rows of this cache's own lazy snapshots are in place already:
// restoring them only moves Offset.
func (c *KV) Restore(s *mlx.Scope, snapshots []*Snapshot, to int) error {
	end := 0
	for _, p := range snapshots {
		if err := p.usable(); err != nil {
			return err
		}
		if p.from != end {
			return fmt.Errorf("cache: snapshot begins at %d, the one before ends at %d",
				p.from, end)
		}
		end = p.to
		if err := p.fits(&c.buf); err != nil {
			return err
		}
	}
	if to < 0 || to > end {
		return fmt.Errorf("cache: cannot restore to %d from snapshots of %d rows", to, end)
	}
	c.sched.clear()
	c.buf.startScope(s)
	for _, p := range snapshots {
		n := min(p.to, to) - p.from
		if n > 0 && p.owner != &c.buf {
			k, v := p.Rows(s)
			if err := c.buf.fitsLoaded(s, k, v); err != nil {
				return err
			}
			c.buf.write(s, s.Slice(k, 2, 0, n), s.Slice(v, 2, 0, n), p.from)
		}
	}
	c.offset = to
	return s.Err()
}

// Free implements Cache.
func (c *KV) Free(s *mlx.Scope) {
	c.sched.clear()
	c.offset = 0
	c.buf.free(s)
}
