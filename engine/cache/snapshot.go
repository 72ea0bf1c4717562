package cache

import (
	"errors"
	"fmt"

	"tandem/engine/mlx"
)

// A Snapshot holds rows of one cache, as they were when it was captured, or the state of a
// recurrent layer.
//
// A snapshot of rows is lazy at first: a range in the buffer of its owner, the cache it was taken
// from, without an MLX handle or memory. The owner copies the rows out before it overwrites or
// frees them. Where a [Source] has the rows too, they can be spilled. Snapshots are shared by
// reference count. Like caches they are used on the MLX thread only.
//
// A state covers all positions before To: its From is 0. It shares its arrays, which never change,
// with the cache until the cache moves on. Its bytes count from the start. A [Source] returns the
// tail and the state of a recurrent layer in place of keys and values.
type Snapshot struct {
	from, to int
	owner    *buffer    // holds the rows while the snapshot is lazy
	k, v     *mlx.Array // (1, KV, to-from, D) once copied out
	source   Source     // has the rows too, the first at position first; may be nil
	first    int
	state    *layerState // of a recurrent layer; nil = rows, or the state before any
	refs     int
	observe  func(bytes int64)
}

// A Source has rows that need not be in memory, such as the rows in a file.
type Source interface {
	// Rows loads keys and values (1, KV, n, D) in order of position into s. It reports errors to
	// the scope.
	Rows(s *mlx.Scope) (k, v *mlx.Array)
}

// NewStored returns a snapshot of the rows of positions [from, to), which are in src and not in
// memory. The caller releases it.
func NewStored(from, to int, src Source) *Snapshot {
	return &Snapshot{from: from, to: to, source: src, first: from, refs: 1}
}

// Store sets src as a source that has the snapshot's rows too.
func (p *Snapshot) Store(src Source) { p.source, p.first = src, p.from }

// Stored reports whether a source has the rows.
func (p *Snapshot) Stored() bool { return p.source != nil }

// Spill frees the snapshot's own rows if a source has them too, and returns their bytes.
func (p *Snapshot) Spill() (bytes int64) {
	if p.source == nil || p.k == nil && p.state == nil {
		return 0
	}
	bytes = p.Bytes()
	p.state.release()
	p.state = nil
	p.k.Free()
	p.v.Free()
	p.k, p.v = nil, nil
	return bytes
}

// From returns the position of the first row held.
func (p *Snapshot) From() int { return p.from }

// To returns the position after the last row: the Offset it was captured at.
func (p *Snapshot) To() int { return p.to }

// Lazy reports whether the rows are still in the owner's buffer.
func (p *Snapshot) Lazy() bool { return p.owner != nil }

// Bytes returns the bytes that the snapshot occupies by itself, zero while it is lazy.
func (p *Snapshot) Bytes() int64 {
	if p.k == nil {
		return p.state.bytes()
	}
	return p.k.Bytes() + p.v.Bytes()
}

// Observe calls fn with the snapshot's bytes when it gets any, immediately if it has some. There is
// one observer; nil removes it.
func (p *Snapshot) Observe(fn func(bytes int64)) {
	p.observe = fn
	if n := p.Bytes(); n > 0 && fn != nil {
		fn(n)
	}
}

// Retain adds a reference and returns p. It panics after the last Release.
func (p *Snapshot) Retain() *Snapshot {
	if p.refs <= 0 {
		panic("cache: snapshot retained after its last release")
	}
	p.refs++
	return p
}

// Release drops a reference; the last one frees the rows. An extra Release panics.
func (p *Snapshot) Release() {
	if p.refs <= 0 {
		panic("cache: snapshot released too often")
	}
	if p.refs--; p.refs > 0 {
		return
	}
	if p.owner != nil {
		p.owner.removeLazy(p)
	}
	p.k.Free()
	p.v.Free()
	p.state.release()
	p.state = nil
}

// State returns the tail and the state of a recurrent layer, which belong to the snapshot. They are
// nil for a snapshot of rows, and where no row was taken in yet.
func (p *Snapshot) State() (tail, state *mlx.Array) {
	if p.state == nil {
		return nil, nil
	}
	return p.state.tail, p.state.state
}

// Rows returns the keys and the values in order of position, (1, KV, To-From, D). They are nil for
// an empty snapshot, or after an error in the scope. The arrays belong to s or to the snapshot. For
// a recurrent layer it returns State.
func (p *Snapshot) Rows(s *mlx.Scope) (k, v *mlx.Array) {
	switch {
	case p.owner != nil:
		return p.owner.read(s, p.from, p.to)
	case p.state != nil:
		return p.State()
	case p.k == nil && p.source != nil:
		return p.load(s)
	}
	return p.k, p.v
}

// load takes the rows from the source.
func (p *Snapshot) load(s *mlx.Scope) (k, v *mlx.Array) {
	k, v = p.source.Rows(s)
	if s.Err() != nil {
		return nil, nil
	}
	from, to := p.from-p.first, p.to-p.first
	for _, x := range []*mlx.Array{k, v} {
		if shape := x.Shape(); len(shape) != 4 || shape[2] < to {
			s.Fail(fmt.Errorf("cache: stored rows %v are not those of positions %d to %d",
				shape, p.from, p.to))
			return nil, nil
		}
	}
	return s.Slice(k, 2, from, to), s.Slice(v, 2, from, to)
}

// copyOut copies the rows into the snapshot. The caller takes it off the owner's list and has the
// copies evaluated.
func (p *Snapshot) copyOut(s *mlx.Scope) {
	k, v := p.owner.read(s, p.from, p.to)
	p.owner = nil
	rows := held(s, p.from, p.to, k, v)
	p.k, p.v = rows.k, rows.v
	if n := p.Bytes(); n > 0 && p.observe != nil {
		p.observe(n)
	}
}

// Split returns a snapshot of the rows before position at, and one of the others. p stays valid. It
// is for caches that keep every row. The parts of a lazy snapshot are lazy. Otherwise the rows are
// copied. That evaluates, so other arrays of s die, as in Scope.Eval.
func (p *Snapshot) Split(s *mlx.Scope, at int) (head, tail *Snapshot, err error) {
	if err := p.usable(); err != nil {
		return nil, nil, err
	}
	if at <= p.from || at >= p.to || p.state != nil {
		return nil, nil, fmt.Errorf("cache: snapshot of positions %d to %d has no inner position %d",
			p.from, p.to, at)
	}
	switch {
	case p.owner != nil:
		head, tail = p.owner.snapshot(p.from, at), p.owner.snapshot(at, p.to)
	case p.k == nil:
		head, tail = &Snapshot{from: p.from, to: at, refs: 1},
			&Snapshot{from: at, to: p.to, refs: 1}
	default:
		part := func(from, to int) *Snapshot {
			cut := func(x *mlx.Array) *mlx.Array { return s.Slice(x, 2, from-p.from, to-p.from) }
			return held(s, from, to, cut(p.k), cut(p.v))
		}
		head, tail = part(p.from, at), part(at, p.to)
		if err := s.Eval(head.k, head.v, tail.k, tail.v); err != nil {
			head.Release()
			tail.Release()
			return nil, nil, err
		}
	}
	for _, part := range []*Snapshot{head, tail} {
		part.source, part.first = p.source, p.first
	}
	return head, tail, nil
}

// Join returns one snapshot of the rows of p and of next, which begins where p ends. Both stay
// valid. Copying and evaluation are as in Split.
func (p *Snapshot) Join(s *mlx.Scope, next *Snapshot) (*Snapshot, error) {
	if err := errors.Join(p.usable(), next.usable()); err != nil {
		return nil, err
	}
	if p.state != nil || next.state != nil {
		return nil, fmt.Errorf("cache: snapshots of positions %d to %d and %d to %d have no rows to join",
			p.from, p.to, next.from, next.to)
	}
	if p.to != next.from {
		return nil, fmt.Errorf("cache: snapshot begins at %d, the one before ends at %d",
			next.from, p.to)
	}
	var all *Snapshot
	if p.owner != nil && p.owner == next.owner {
		all = p.owner.snapshot(p.from, next.to)
	} else {
		k, v := p.Rows(s)
		nextK, nextV := next.Rows(s)
		if err := s.Err(); err != nil {
			return nil, err
		}
		all = held(s, p.from, next.to, s.Concat(2, k, nextK), s.Concat(2, v, nextV))
		if err := s.Eval(all.k, all.v); err != nil {
			all.Release()
			return nil, err
		}
	}
	return all, nil
}

// held makes a snapshot whose rows are its own, once they are evaluated.
func held(s *mlx.Scope, from, to int, k, v *mlx.Array) *Snapshot {
	// Contiguous releases the array that a slice is cut from; Copy would share it.
	return &Snapshot{from: from, to: to, refs: 1, k: s.Keep(s.Contiguous(k)),
		v: s.Keep(s.Contiguous(v))}
}

// stateAt makes a snapshot of a state at a position.
func stateAt(m *layerState, at int) *Snapshot {
	return &Snapshot{to: at, state: m.retain(), refs: 1}
}

// usable returns why the snapshot cannot be restored, or nil.
func (p *Snapshot) usable() error {
	switch {
	case p == nil:
		return fmt.Errorf("cache: no snapshot to restore; recompute the rows")
	case p.refs <= 0:
		return fmt.Errorf("cache: snapshot of positions %d to %d was released", p.from, p.to)
	case p.owner == nil && p.source == nil && p.to > p.from && p.Bytes() == 0:
		return fmt.Errorf("cache: snapshot of positions %d to %d was lost with the cache it was taken from; recompute them",
			p.from, p.to)
	}
	return nil
}

// fits returns why the rows cannot be written to b, or nil.
func (p *Snapshot) fits(b *buffer) error {
	switch {
	case p.to == p.from:
		return nil
	case p.state != nil:
		return fmt.Errorf("cache: the state of a recurrent layer has no rows")
	case p.owner != nil:
		return b.fits(p.owner.k, p.owner.v)
	case p.k == nil:
		return nil // takes checks them once they are loaded
	}
	return b.fits(p.k, p.v)
}
