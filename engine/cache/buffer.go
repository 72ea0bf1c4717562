package cache

import (
	"fmt"
	"slices"

	"tandem/engine/mlx"
)

// growStep is the number of rows that buffers grow by, as in mlx_lm.
const growStep = 256

// A buffer holds the rows of one layer and knows which lazy snapshots point into it. Position p is
// in row p, or in row p mod ring. Positions below sink have separate rows before the ring. All of
// these come after front.
//
// Between evaluations it holds the only handle on its arrays, so that MLX can write them in place.
type buffer struct {
	k, v    *mlx.Array  // (1, KV, rows, D) and (1, KV, rows, Dv); nil before the first row
	front   int         // first rows, which have no position here; see Divided
	sink    int         // rows before the ring, for the first positions
	ring    int         // rows of a full ring; 0 = grows without bound
	whole   bool        // all rows are there from the first on
	maxRows int         // rows that will ever be needed; 0 = not known
	lazy    []*Snapshot // ranges of this buffer, not copied out
	copied  []*Snapshot // copied out by the last Update or Restore, perhaps not evaluated
	in      *mlx.Scope  // the copies' scope; see renew
}

// rows returns the capacity in rows, without front.
func (b *buffer) rows() int {
	if b.k == nil {
		return 0
	}
	return b.k.Dim(2) - b.front
}

// name says in errors what it is of.
func (b *buffer) name() string {
	switch {
	case b.whole:
		return "a bounded layer"
	case b.ring > 0:
		return "a ring"
	}
	return "a cache"
}

// A span is a range of rows of the buffer.
type span struct{ start, stop int }

// spans returns the rows of positions [from, to), in order: two spans where the ring wraps, and one
// more for positions below sink.
func (b *buffer) spans(from, to int) []span {
	if b.ring == 0 || to <= b.sink {
		return []span{{b.front + from, b.front + to}}
	}
	first := b.front + b.sink // row of the ring
	if from < b.sink {
		return append([]span{{b.front + from, first}}, b.spans(b.sink, to)...)
	}
	start, n := (from-b.sink)%b.ring, to-from
	if start+n <= b.ring {
		return []span{{first + start, first + start + n}}
	}
	return []span{{first + start, first + b.ring}, {first, first + start + n - b.ring}}
}

// held returns the positions of the rows of a snapshot [from, to), in order. Where there is a sink,
// its rows come first, and from counts back as if all rows were adjacent.
func (b *buffer) held(from, to int) []span {
	if b.sink == 0 || from == 0 || from == to {
		return []span{{from, to}}
	}
	return []span{{0, b.sink}, {from + b.sink, to}}
}

// startScope clears what an earlier scope copied out, which is evaluated. A cache that is updated in
// pieces has all copies of one scope evaluated together.
func (b *buffer) startScope(s *mlx.Scope) {
	if b.in != s {
		b.copied, b.in = nil, s
	}
}

// fits returns an error unless rows k and v have the shape and type of those held.
func (b *buffer) fits(k, v *mlx.Array) error {
	ks, vs := k.Shape(), v.Shape()
	if len(ks) != 4 || len(vs) != 4 || ks[0] != 1 || !slices.Equal(ks[:3], vs[:3]) {
		return fmt.Errorf("cache: rows %v and %v are not (1, KV, n, D)", ks, vs)
	}
	if b.k == nil {
		return nil
	}
	for _, x := range []struct{ new, held *mlx.Array }{{k, b.k}, {v, b.v}} {
		n, h := x.new.Shape(), x.held.Shape()
		if n[1] != h[1] || n[3] != h[3] || x.new.Dtype() != x.held.Dtype() {
			return fmt.Errorf("cache: rows %s%v do not fit a cache of %s%v",
				x.new.Dtype(), n, x.held.Dtype(), h)
		}
	}
	return nil
}

// fitsLoaded is fits for rows whose load may have failed.
func (b *buffer) fitsLoaded(s *mlx.Scope, k, v *mlx.Array) error {
	if err := s.Err(); err != nil {
		return err
	}
	return b.fits(k, v)
}

// reserve makes room for need rows after front. k and v give shape and type. An unbounded buffer
// grows by at least a quarter. So appending n rows copies O(n) rows in total, and at most a fifth
// of the buffer is idle, but for the rounding to growStep. It does not grow beyond most.
func (b *buffer) reserve(s *mlx.Scope, need int, k, v *mlx.Array) {
	have := b.rows()
	if need <= have {
		return
	}
	rows := max(need, have+have/4)
	if b.maxRows > 0 {
		rows = min(rows, max(need, b.maxRows))
	}
	rows = (rows + growStep - 1) / growStep * growStep
	if b.ring > 0 {
		rows = min(rows, b.sink+b.ring)
	}
	grow := func(held, like *mlx.Array) *mlx.Array {
		if held == nil {
			return s.Zeros(like.Dtype(), 1, like.Dim(1), b.front+rows, like.Dim(3))
		}
		return s.Concat(2, held, s.Zeros(like.Dtype(), 1, like.Dim(1), rows-have, like.Dim(3)))
	}
	b.set(s, grow(b.k, k), grow(b.v, v))
}

// set replaces the arrays. It frees the old handles now, before any evaluation; the graph keeps
// what it needs of them.
func (b *buffer) set(s *mlx.Scope, k, v *mlx.Array) {
	if s.Err() != nil {
		return
	}
	b.k.Free()
	b.v.Free()
	b.k, b.v = s.Keep(k), s.Keep(v)
}

// write puts rows k and v at positions from, from+1, ...; it is done in place when evaluated.
func (b *buffer) write(s *mlx.Scope, k, v *mlx.Array, from int) {
	to := from + k.Dim(2)
	b.copyOut(s, from, to)
	need := to
	switch {
	case b.whole:
		need = b.sink + b.ring
	case b.ring > 0:
		need = min(to, b.ring) // attention reads the whole ring
	}
	b.reserve(s, need, k, v)
	spans := b.spans(from, to)
	if len(spans) == 1 {
		b.set(s, s.SliceUpdate(b.k, k, 2, spans[0].start), s.SliceUpdate(b.v, v, 2, spans[0].start))
		return
	}
	done := 0
	for _, w := range spans {
		n := w.stop - w.start
		b.set(s,
			s.SliceUpdate(b.k, s.Slice(k, 2, done, done+n), 2, w.start),
			s.SliceUpdate(b.v, s.Slice(v, 2, done, done+n), 2, w.start))
		done += n
	}
}

// read returns the rows of a snapshot [from, to) in order, or nil.
func (b *buffer) read(s *mlx.Scope, from, to int) (k, v *mlx.Array) {
	if from == to {
		return nil, nil
	}
	var ks, vs []*mlx.Array
	for _, h := range b.held(from, to) {
		for _, w := range b.spans(h.start, h.stop) {
			ks = append(ks, s.Slice(b.k, 2, w.start, w.stop))
			vs = append(vs, s.Slice(b.v, 2, w.start, w.stop))
		}
	}
	return s.Concat(2, ks...), s.Concat(2, vs...)
}

// snapshot makes a lazy snapshot of positions [from, to).
func (b *buffer) snapshot(from, to int) *Snapshot {
	p := &Snapshot{from: from, to: to, refs: 1}
	if to > from {
		p.owner = b
		b.lazy = append(b.lazy, p)
	}
	return p
}

// copyOut copies out the snapshots whose rows a write of positions [from, to) would overwrite.
func (b *buffer) copyOut(s *mlx.Scope, from, to int) {
	b.lazy = slices.DeleteFunc(b.lazy, func(p *Snapshot) bool {
		if !b.overlap(p.from, p.to, from, to) {
			return false
		}
		p.copyOut(s)
		b.copied = append(b.copied, p)
		return true
	})
}

// overlap reports whether a snapshot [a0, a1) and positions [c0, c1) share rows. Neither range is
// empty.
func (b *buffer) overlap(a0, a1, c0, c1 int) bool {
	switch {
	case b.ring == 0:
		return a0 < c1 && c0 < a1
	case b.sink == 0:
		ahead := ((c0-a0)%b.ring + b.ring) % b.ring // rows from a0 to c0 around the ring
		return ahead < a1-a0 || b.ring-ahead < c1-c0
	}
	for _, h := range b.held(a0, a1) {
		for _, a := range b.spans(h.start, h.stop) {
			for _, c := range b.spans(c0, c1) {
				if a.start < c.stop && c.start < a.stop {
					return true
				}
			}
		}
	}
	return false
}

// removeLazy removes a lazy snapshot that was released.
func (b *buffer) removeLazy(p *Snapshot) {
	b.lazy = slices.DeleteFunc(b.lazy, func(q *Snapshot) bool { return q == p })
}

// arrays returns the arrays that an evaluation has to include.
func (b *buffer) arrays() []*mlx.Array {
	if b.k == nil {
		return nil
	}
	out := []*mlx.Array{b.k, b.v}
	for _, p := range b.copied {
		if p.refs > 0 {
			out = append(out, p.k, p.v)
		}
	}
	return out
}

func (b *buffer) bytes() int64 {
	if b.k == nil {
		return 0
	}
	return b.k.Bytes() + b.v.Bytes()
}

// free releases the arrays after copying out every lazy snapshot.
func (b *buffer) free(s *mlx.Scope) {
	var copies []*mlx.Array
	for _, p := range b.lazy {
		p.copyOut(s)
		copies = append(copies, p.k, p.v)
	}
	b.lazy, b.copied = nil, nil
	b.k.Free()
	b.v.Free()
	b.k, b.v = nil, nil
	if len(copies) > 0 {
		// Otherwise the copies would hold the whole buffer until their first use.
		s.Eval(copies...)
	}
}
