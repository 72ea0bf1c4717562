package cache

import (
	"fmt"
	"slices"

	"tandem/engine/mlx"
)

// A Recurrence adds n rows to the state of a layer. It returns their outputs out (n, ...) and next,
// the state after the last row. window (Tail+n, C) is the rows of the convolution with the Tail
// rows before them. rows are the other inputs, (n, ...) each. To the bit, the result for a row must
// not depend on how many rows come with it: the cache cuts runs where it captures.
type Recurrence func(s *mlx.Scope, state, window *mlx.Array, rows []*mlx.Array) (
	out, next *mlx.Array)

// A StateShape says what a recurrent layer carries from row to row.
type StateShape struct {
	Tail, Width int   // rows of the convolution that later ones see, and elements of each
	State       []int // shape of the state, float32; [0] = only the tail
}

// A Recurrent holds the state of a layer that folds every row into a matrix of fixed size: the tail
// of its convolution (Tail, C) in the type of the activations, and the state in float32.
//
// Trim replays. The cache keeps the state before the last rows, at most MaxBlock of them, and the
// inputs of these rows: the rows of the convolution and the layer's other inputs. Trim only moves
// the offset. The next Update first adds the rows that remain, by the same operations as before,
// and so to the same bits.
//
// Keeping the state after each row would need no replay, but a state is large. The 48 layers of a
// Qwen3.6 have 48 heads of 128 x 128 each, 3 MiB a layer: a block of 16 rows would hold 2.3 GB
// beside the live state. With replay it holds one state, 144 MiB, and 20 KiB a row and layer in
// bfloat16, 15 MiB. A replay costs the recurrence of the rows that remain, without projections.
type Recurrent struct {
	shape StateShape
	run   Recurrence

	offset int

	// now is the state after at rows. A replay is due where offset < at; padding is still to be
	// dropped where offset > at.
	now *layerState
	at  int

	// The tape holds what was taken in since base, the state after from rows. Update leaves at most
	// its last MaxBlock rows on it.
	base   *layerState
	from   int
	window *mlx.Array   // (Tail+at-from, C)
	rows   []*mlx.Array // (at-from, ...)

	sched schedule
	made  []*layerState // by the last Update or since; some may not be evaluated

	replayed bool // since the last Update: now is not evaluated
}

// A layerState is the layer's state at one offset. Its arrays never change: caches and snapshots share
// them by reference count.
type layerState struct {
	tail, state *mlx.Array
	refs        int
}

func (m *layerState) retain() *layerState {
	if m != nil {
		m.refs++
	}
	return m
}

// release drops a reference. It does nothing for nil, the state before any row.
func (m *layerState) release() {
	if m == nil {
		return
	}
	if m.refs--; m.refs == 0 {
		m.tail.Free()
		m.state.Free()
	}
}

func (m *layerState) arrays() []*mlx.Array {
	if m == nil {
		return nil
	}
	return []*mlx.Array{m.tail, m.state}
}

func (m *layerState) bytes() int64 {
	if m == nil {
		return 0
	}
	return m.tail.Bytes() + m.state.Bytes()
}

// NewRecurrent makes the empty cache of a layer.
func NewRecurrent(shape StateShape, run Recurrence) *Recurrent {
	return &Recurrent{shape: shape, run: run}
}

// Offset implements Cache.
func (c *Recurrent) Offset() int { return c.offset }

// Expect implements Cache: a state has one size.
func (c *Recurrent) Expect(int) {}

// Update adds n rows, x (n, C) for the convolution and the layer's other inputs (n, ...), and
// returns their outputs (n, ...). The last pad rows count in Offset and do not enter the state: the
// caller has to trim them before the next Update.
func (c *Recurrent) Update(s *mlx.Scope, pad int, x *mlx.Array, rows ...*mlx.Array) *mlx.Array {
	n := x.Dim(0)
	taken := n - pad
	switch {
	case n == 0 || pad < 0 || taken <= 0:
		s.Fail(fmt.Errorf("cache: update with %d rows, %d of them padding", n, pad))
	case c.offset > c.at:
		s.Fail(fmt.Errorf("cache: update after %d rows of padding that were not dropped",
			c.offset-c.at))
	case len(x.Shape()) != 2 || x.Dim(1) != c.shape.Width:
		s.Fail(fmt.Errorf("cache: rows %v are not (n, %d)", x.Shape(), c.shape.Width))
	case c.now != nil && x.Dtype() != c.now.tail.Dtype():
		s.Fail(fmt.Errorf("cache: rows in %s after rows in %s", x.Dtype(), c.now.tail.Dtype()))
	}
	for _, r := range rows {
		if r.Dim(0) != n {
			s.Fail(fmt.Errorf("cache: %d rows beside %d of the convolution", r.Dim(0), n))
		}
	}
	if s.Err() != nil {
		return x
	}
	c.replay(s)
	c.releaseMade()
	c.replayed = false
	start, tail := c.offset, c.shape.Tail
	window, state := c.before(s, c.now, x.Dtype())
	window = s.Concat(0, window, x) // (Tail+n, C)

	// The run is cut at each offset whose state is captured.
	base := max(0, taken-MaxBlock)
	cuts := []int{base, taken, n}
	for _, o := range c.sched.ahead(start + taken) {
		cuts = append(cuts, o-start)
	}
	slices.Sort(cuts)
	after := map[int]*layerState{0: c.now.retain()}
	defer func() {
		for _, m := range after {
			m.release()
		}
	}()
	var outs []*mlx.Array
	done := 0
	for _, cut := range slices.Compact(cuts) {
		if cut == done {
			continue
		}
		var out *mlx.Array
		out, state = c.run(s, state, s.Slice(window, 0, done, tail+cut),
			slices0(s, rows, done, cut))
		outs = append(outs, out)
		if done = cut; cut <= taken {
			after[cut] = c.keepState(s, s.Slice(window, 0, cut, cut+tail), state)
			state = after[cut].state
		}
	}
	if s.Err() != nil {
		return x
	}
	c.tape(s, after[base], start+base, s.Slice(window, 0, base, tail+taken),
		slices0(s, rows, base, taken))
	c.set(after[taken], start+taken)
	c.offset = start + n
	c.sched.cross(c.at, func(_, at int) *Snapshot { return stateAt(after[at-start], at) })
	return s.Concat(0, outs...)
}

// before returns the tail and the state of m, or zeros for nil.
func (c *Recurrent) before(s *mlx.Scope, m *layerState, d mlx.Dtype) (tail, state *mlx.Array) {
	if m == nil {
		return s.Zeros(d, c.shape.Tail, c.shape.Width), s.Zeros(mlx.Float32, c.shape.State...)
	}
	return m.tail, m.state
}

// slices0 returns the rows [from, to) of each array.
func slices0(s *mlx.Scope, arrays []*mlx.Array, from, to int) []*mlx.Array {
	out := make([]*mlx.Array, len(arrays))
	for i, a := range arrays {
		out[i] = s.Slice(a, 0, from, to)
	}
	return out
}

// keepState keeps a state for the caller, and adds it to what is evaluated with the cache.
func (c *Recurrent) keepState(s *mlx.Scope, tail, state *mlx.Array) *layerState {
	// Contiguous releases the array that a slice is cut from.
	m := &layerState{tail: s.Keep(s.Contiguous(tail)), state: s.Keep(s.Contiguous(state)), refs: 1}
	c.made = append(c.made, m.retain())
	return m
}

// set makes m the live state, after at rows.
func (c *Recurrent) set(m *layerState, at int) {
	m.retain()
	c.now.release()
	c.now, c.at = m, at
}

// tape begins a tape at m, the state after from rows.
func (c *Recurrent) tape(s *mlx.Scope, m *layerState, from int, window *mlx.Array, rows []*mlx.Array) {
	m.retain()
	c.freeTape()
	c.base, c.from = m, from
	if window == nil {
		return
	}
	c.window = s.Keep(s.Contiguous(window))
	for _, r := range rows {
		c.rows = append(c.rows, s.Keep(s.Contiguous(r)))
	}
}

// freeTape frees the tape.
func (c *Recurrent) freeTape() {
	c.base.release()
	c.window.Free()
	for _, r := range c.rows {
		r.Free()
	}
	c.base, c.window, c.rows = nil, nil, nil
}

// releaseMade releases the states that the last Update made.
func (c *Recurrent) releaseMade() {
	for _, m := range c.made {
		m.release()
	}
	c.made = nil
}

// replay replays the rows that remain, if rows were trimmed.
func (c *Recurrent) replay(s *mlx.Scope) {
	if c.offset >= c.at {
		return
	}
	n := c.offset - c.from
	if n == 0 {
		c.set(c.base, c.offset)
		return
	}
	_, state := c.before(s, c.base, c.window.Dtype())
	tail := c.shape.Tail
	_, state = c.run(s, state, s.Slice(c.window, 0, 0, tail+n), slices0(s, c.rows, 0, n))
	m := c.keepState(s, s.Slice(c.window, 0, n, n+tail), state)
	c.set(m, c.offset)
	m.release()
	c.replayed = true
}

// Trim implements Cache. It drops rows of the last Update, at most MaxBlock.
func (c *Recurrent) Trim(n int) error {
	to := c.offset - n
	switch {
	case n < 0 || to < 0:
		return fmt.Errorf("cache: cannot drop %d of %d rows", n, c.offset)
	case n > 0 && to > c.at:
		return fmt.Errorf("cache: cannot drop %d rows of %d of padding", n, c.offset-c.at)
	case to < c.from:
		return fmt.Errorf("cache: cannot drop %d rows: the state is known from position %d to %d; restore a snapshot",
			n, c.from, c.offset)
	}
	c.offset = to
	c.sched.rewind(to)
	return nil
}

// NeedsExact implements Cache.
func (c *Recurrent) NeedsExact() bool { return true }

// Schedule implements Cache. A capture is the state at its offset.
func (c *Recurrent) Schedule(from int, offsets ...int) error {
	return c.sched.set(from, c.offset, offsets)
}

// Captured implements Cache.
func (c *Recurrent) Captured() []*Snapshot { return c.sched.take() }

// Snapshot implements Cache. It captures the state at Offset; from is not used.
func (c *Recurrent) Snapshot(s *mlx.Scope, from int) (*Snapshot, error) {
	if from < 0 || from > c.offset {
		return nil, fmt.Errorf("cache: no rows from position %d in a cache of %d", from, c.offset)
	}
	if c.offset > c.at {
		return nil, fmt.Errorf("cache: snapshot after %d rows of padding that were not dropped",
			c.offset-c.at)
	}
	c.replay(s)
	return stateAt(c.now, c.offset), s.Err()
}

// Restore implements Cache. It needs only the last snapshot, which is the state.
func (c *Recurrent) Restore(s *mlx.Scope, snapshots []*Snapshot, to int) error {
	var m *layerState
	if len(snapshots) > 0 {
		p := snapshots[len(snapshots)-1]
		if err := p.usable(); err != nil {
			return err
		}
		if p.to != to || p.from != 0 || to != 0 && p.state == nil && p.source == nil {
			return fmt.Errorf("cache: a recurrent layer can be restored to %d only from its state there, not from positions %d to %d",
				to, p.from, p.to)
		}
		if m = p.state.retain(); m == nil && to != 0 {
			m = c.load(s, p)
		}
		defer m.release()
		if err := s.Err(); err != nil {
			return err
		}
		if m != nil && !c.fits(m) {
			return fmt.Errorf("cache: a tail %v and a state %v do not fit a layer of %d rows of %d and %v",
				m.tail.Shape(), m.state.Shape(), c.shape.Tail, c.shape.Width, c.shape.State)
		}
	} else if to != 0 {
		return fmt.Errorf("cache: cannot restore to %d without a snapshot", to)
	}
	c.sched.clear()
	c.releaseMade()
	c.set(m, to)
	c.tape(s, m, to, nil, nil)
	c.offset = to
	return s.Err()
}

// load takes a state from the snapshot's source. The caller owns it.
func (c *Recurrent) load(s *mlx.Scope, p *Snapshot) *layerState {
	tail, state := p.source.Rows(s)
	if s.Err() != nil {
		return nil
	}
	return &layerState{tail: s.Keep(tail), state: s.Keep(state), refs: 1}
}

func (c *Recurrent) fits(m *layerState) bool {
	return slices.Equal(m.tail.Shape(), []int{c.shape.Tail, c.shape.Width}) &&
		slices.Equal(m.state.Shape(), c.shape.State)
}

// Arrays implements Cache. It returns the state, the tape and the captures.
func (c *Recurrent) Arrays() []*mlx.Array {
	out := slices.Concat(c.now.arrays(), c.base.arrays(), c.rows)
	if c.window != nil {
		out = append(out, c.window)
	}
	for _, m := range c.made {
		if m != c.now && m != c.base {
			out = append(out, m.arrays()...)
		}
	}
	return out
}

// Bytes implements Cache. The tape counts.
func (c *Recurrent) Bytes() int64 {
	n := c.now.bytes()
	if c.base != c.now {
		n += c.base.bytes()
	}
	if c.window != nil {
		n += c.window.Bytes()
	}
	for _, r := range c.rows {
		n += r.Bytes()
	}
	return n
}

// Free implements Cache.
func (c *Recurrent) Free(s *mlx.Scope) {
	now, replayed := c.now, c.replayed
	c.sched.clear()
	c.releaseMade()
	c.freeTape()
	c.set(nil, 0)
	c.offset, c.from, c.replayed = 0, 0, false
	if replayed && now != nil && now.refs > 0 {
		// Otherwise a snapshot would hold the tape until its first use.
		s.Eval(now.arrays()...)
	}
}
