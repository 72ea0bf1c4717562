package cache

import (
	"tandem/engine/mlx"
)

// A Bank keeps the restored rows of a bounded layer, as they are attended: after norm and rotary
// embedding. A row is restored once and never changes, so a cache that keeps every row holds it. If
// the layer looks back over Reach positions alone, a ring holds them.
//
// Its views leave out what the layer's [SinkWindow] shows. Join puts both together.
type Bank struct {
	rowCache
	bounds Bounds
}

// A rowCache is a [KV] or a [Rotating].
type rowCache interface {
	Attention
	buffer() *buffer
}

func (c *KV) buffer() *buffer       { return &c.buf }
func (c *Rotating) buffer() *buffer { return &c.buf }

// NewBank makes an empty bank. It panics for bounds that [Bounds.Check] refuses.
func NewBank(opts Options, b Bounds) *Bank {
	if err := b.Check(); err != nil {
		panic(err)
	}
	var rows rowCache = NewKV(b.Reach)
	if b.Reach > 0 && opts.Layout != Full {
		rows = NewRotating(b.Reach, opts.Chunk)
	}
	rows.Expect(opts.Rows)
	return &Bank{rows, b}
}

// First returns the lowest position whose query attends restored rows.
func (c *Bank) First() int { return c.bounds.Sink + c.bounds.Window }

// Update implements Attention.
func (c *Bank) Update(s *mlx.Scope, k, v *mlx.Array) View {
	n := k.Dim(2)
	c.rowCache.Update(s, k, v)
	return c.View(s, n)
}

// View implements Attention.
func (c *Bank) View(s *mlx.Scope, n int) View {
	if !shows(s, n, c.Offset()) {
		return View{}
	}
	return c.Restored(s, c.Offset()-n, c.Offset())
}

// Restored returns the restored rows that queries at positions [from, to) attend, which are among
// the newest. The rows of the last queries need not be restored yet. It is empty if there are none.
func (c *Bank) Restored(s *mlx.Scope, from, to int) View {
	b, buf := c.bounds, c.buffer()
	length := to - b.Window // rows that the last query sees
	if s.Err() != nil || length <= b.Sink {
		return View{}
	}
	if buf.ring > 0 {
		length = min(c.Offset(), buf.ring)
	}
	key := boundsKey{Bounds: b, restored: true, from: from, to: to, length: length, ring: buf.ring}
	slot := func(p int) int { return buf.spans(p, p+1)[0].start }
	return View{
		K: s.Slice(buf.k, 2, 0, length), V: s.Slice(buf.v, 2, 0, length),
		Mask: b.mask(s, key, slot, func(q int, add func(first, last int)) {
			add(b.Sink, q-b.Window+1)
		}),
	}
}

// Join returns one view of own rows and of the restored rows for the same queries, which may be
// none. Own rows come first. There are as many slots of them for every query, so each restored row
// has its place, whatever rows come along.
func (v View) Join(s *mlx.Scope, restored View) View {
	if restored.K == nil || s.Err() != nil {
		return v
	}
	return View{K: s.Concat(2, v.K, restored.K), V: s.Concat(2, v.V, restored.V),
		Mask: s.Concat(1, v.Mask, restored.Mask)}
}
