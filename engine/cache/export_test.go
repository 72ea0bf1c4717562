package cache

import (
	"fmt"

	"tandem/engine/mlx"
)

// Restored returns the restored rows alone that the queries at the newest n positions attend.
func (c *Bank) Restored(s *mlx.Scope, n int) View {
	at, front, buf := c.Offset()-n, c.bounds.Front(), c.buffer()
	if !shows(s, n, c.Offset()) {
		return View{}
	}
	if r, ok := c.rowCache.(*Rotating); ok && r.first(at) < r.low {
		s.Fail(fmt.Errorf("cache: the ring holds only %d to %d", r.low, r.offset))
		return View{}
	}
	slots := c.slots(c.Offset())
	key := boundsKey{Bounds: c.bounds, from: at, to: at + n, slots: slots, ring: buf.ring}
	return View{K: s.Slice(buf.k, 2, front, front+slots), V: s.Slice(buf.v, 2, front, front+slots),
		Mask: key.mask(s, c.attended)}
}
