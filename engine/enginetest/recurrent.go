package enginetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// The toy recurrence is a convolution of toyWidth channels over the row and the toyTail before it.
// Its result m is added to a state (2, toyWidth), which decays by the row's own gate:
//
//	state = gate state + (m, m/2)    out = state[0] + state[1]
//
// Without a state, out = m.
const (
	toyTail  = 3
	toyWidth = 4
)

var toyTaps = [toyTail + 1]float32{0.25, -0.5, 0.75, 1}

// toyRecurrent makes a cache whose recurrence is done by plain products and
// sums, so that Go gets the same bits.
func (c *recurrentTest) toyRecurrent() *cache.Recurrent {
	shape := cache.StateShape{Tail: toyTail, Width: toyWidth, State: c.state}
	return cache.NewRecurrent(shape,
		func(s *mlx.Scope, state, window *mlx.Array, rows []*mlx.Array) (out, next *mlx.Array) {
			var outs []*mlx.Array
			halves := mlx.New(s, []float32{1, 0.5}, 2, 1)
			for i := range rows[0].Dim(0) {
				mixed := s.Zeros(mlx.Float32, 1, toyWidth)
				for j, tap := range toyTaps {
					mixed = s.Add(mixed, s.Mul(s.Slice(window, 0, i+j, i+j+1),
						s.Scalar(float64(tap), mlx.Float32)))
				}
				if c.stateless() {
					outs = append(outs, mixed)
					continue
				}
				state = s.Add(s.Mul(state, s.Slice(rows[0], 0, i, i+1)), s.Mul(halves, mixed))
				outs = append(outs, s.Add(s.Slice(state, 0, 0, 1), s.Slice(state, 0, 1, 2)))
			}
			return s.Concat(0, outs...), state
		})
}

// A toyRow is what goes into one row.
type toyRow struct {
	x    [toyWidth]float32
	gate float32
}

// toyAfter returns the tail and the state after rows, and the outputs of all, computed in Go.
func (c *recurrentTest) toyAfter(rows []toyRow) (tail, state, out []float32) {
	if !c.stateless() {
		state = make([]float32, 2*toyWidth)
	}
	padded := append(make([]toyRow, toyTail), rows...)
	for i, r := range rows {
		for k := range toyWidth {
			var mixed float32
			for j, tap := range toyTaps {
				mixed = mixed + float32(padded[i+j].x[k]*tap)
			}
			if c.stateless() {
				out = append(out, mixed)
				continue
			}
			state[k] = float32(state[k]*r.gate) + mixed
			state[toyWidth+k] = float32(state[toyWidth+k]*r.gate) + float32(mixed*0.5)
			out = append(out, state[k]+state[toyWidth+k])
		}
	}
	for _, r := range padded[len(rows):] {
		tail = append(tail, r.x[:]...)
	}
	return tail, state, out
}

// TestRecurrent checks the contract of cache.Cache for cache.Recurrent, to the
// bit, and that MLX's active memory returns to what it was.
func TestRecurrent(t *testing.T) {
	for _, sub := range []struct {
		name string
		run  func(*recurrentTest)
	}{
		{"Update", testRecurrentUpdate},
		{"Trim", testRecurrentTrim},
		{"Padding", testRecurrentPadding},
		{"Schedule", testRecurrentSchedule},
		{"Restore", testRecurrentRestore},
		{"Source", testRecurrentSource},
		{"Refuse", testRecurrentRefuse},
		{"Random", testRecurrentRandom},
	} {
		for name, state := range map[string][]int{"State": {2, toyWidth}, "TailAlone": {0}} {
			t.Run(sub.name+"/"+name, func(t *testing.T) {
				sub.run(&recurrentTest{newCacheTest(t, CacheKind{}), state})
			})
		}
	}
}

type recurrentTest struct {
	*cacheTest
	state []int // the shape of the toy's state
}

// stateless reports whether the toy has nothing but its tail.
func (c *recurrentTest) stateless() bool { return c.state[0] == 0 }

func (c *recurrentTest) toyRows(n int) []toyRow {
	rows := make([]toyRow, n)
	for i := range rows {
		copy(rows[i].x[:], c.floats(toyWidth))
		rows[i].gate = c.rng.Float32()
	}
	return rows
}

// A liveState is a cache and the rows it should have taken in.
type liveState struct {
	c     *recurrentTest
	cache *cache.Recurrent
	rows  []toyRow
}

func (c *recurrentTest) open() *liveState { return &liveState{c: c, cache: c.toyRecurrent()} }

func (l *liveState) free() { l.c.do(func(s *mlx.Scope) error { l.cache.Free(s); return nil }) }

// update takes in n new rows, then pad rows of padding.
func (l *liveState) update(n, pad int) { l.c.t.Helper(); l.append(l.c.toyRows(n), pad) }

func (l *liveState) append(rows []toyRow, pad int) {
	l.c.t.Helper()
	var x, gates []float32
	for _, r := range slices.Concat(rows, l.c.toyRows(pad)) {
		x, gates = append(x, r.x[:]...), append(gates, r.gate)
	}
	n := len(gates)
	var got []float32
	l.c.do(func(s *mlx.Scope) (err error) {
		out := l.cache.Update(s, pad, mlx.New(s, x, n, toyWidth), mlx.New(s, gates, n, 1))
		if err := s.Eval(append(l.cache.Arrays(), out)...); err != nil {
			return err
		}
		got, err = mlx.Read[float32](s, out)
		return err
	})
	pos := len(l.rows)
	l.rows = append(l.rows[:pos:pos], rows...)
	_, _, out := l.c.toyAfter(l.rows)
	if got, want := got[:len(rows)*toyWidth], out[pos*toyWidth:]; !slices.Equal(got, want) {
		l.c.t.Fatalf("%d rows at %d: got %v, want %v", len(rows), pos, got, want)
	}
	if l.cache.Offset() != len(l.rows)+pad {
		l.c.t.Fatalf("offset %d after %d rows and %d of padding",
			l.cache.Offset(), len(l.rows), pad)
	}
	if pad > 0 {
		if err := l.cache.Trim(pad); err != nil {
			l.c.t.Fatal(err)
		}
	}
}

func (l *liveState) trim(n int) {
	l.c.t.Helper()
	if err := l.cache.Trim(n); err != nil {
		l.c.t.Fatal(err)
	}
	l.rows = l.rows[:len(l.rows)-n]
}

// A heldState is a snapshot and the rows before it.
type heldState struct {
	snap *cache.Snapshot
	rows []toyRow
}

func (l *liveState) snapshot() (h heldState) {
	l.c.t.Helper()
	l.c.do(func(s *mlx.Scope) (err error) {
		h.snap, err = l.cache.Snapshot(s, 0)
		return err
	})
	h.rows = l.rows
	return h
}

func (h heldState) release(c *recurrentTest) {
	c.do(func(*mlx.Scope) error { h.snap.Release(); return nil })
}

// check compares a snapshot with the rows before it, and with its bytes.
func (h heldState) check(c *recurrentTest) {
	c.t.Helper()
	tail, state, _ := c.toyAfter(h.rows)
	if h.snap.To() != len(h.rows) || h.snap.From() != 0 || h.snap.Lazy() {
		c.t.Fatalf("a state of %d to %d, lazy %v, after %d rows",
			h.snap.From(), h.snap.To(), h.snap.Lazy(), len(h.rows))
	}
	var got [2][]float32
	c.do(func(s *mlx.Scope) error {
		a, b := h.snap.State()
		for i, x := range []*mlx.Array{a, b} {
			if x == nil {
				continue
			}
			var err error
			if got[i], err = mlx.Read[float32](s, s.Contiguous(x)); err != nil {
				return err
			}
		}
		return nil
	})
	if len(h.rows) == 0 {
		tail, state = nil, nil
	}
	if !slices.Equal(got[0], tail) || !slices.Equal(got[1], state) {
		c.t.Fatalf("after %d rows: tail %v and state %v, want %v and %v",
			len(h.rows), got[0], got[1], tail, state)
	}
	if n := h.snap.Bytes(); n != int64(4*(len(tail)+len(state))) {
		c.t.Fatalf("a state of %d bytes", n)
	}
}

func (l *liveState) restore(h heldState) {
	l.c.t.Helper()
	l.c.do(func(s *mlx.Scope) error {
		if err := l.cache.Restore(s, []*cache.Snapshot{h.snap}, h.snap.To()); err != nil {
			return err
		}
		return s.Eval(l.cache.Arrays()...)
	})
	l.rows = h.rows
}

// captured takes what was captured, with the rows before each.
func (l *liveState) captured() (list []heldState) {
	for _, p := range l.cache.Captured() {
		list = append(list, heldState{p, l.rows[:p.To()]})
	}
	return list
}

// testRecurrentRandom runs seeded sequences of all operations.
func testRecurrentRandom(c *recurrentTest) {
	for seed := range uint64(6) {
		c.rng = rand.New(rand.NewPCG(seed, 1))
		l, other := c.open(), c.open()
		var held []heldState
		for range 50 {
			switch op := c.rng.IntN(8); {
			case op < 3:
				n := 1 + c.rng.IntN(50)
				l.update(n, c.rng.IntN(3))
				l.trim(c.rng.IntN(min(n, cache.MaxBlock) + 1))
			case op < 4:
				held = append(held, l.snapshot())
			case op < 5:
				at := l.cache.Offset()
				if err := l.cache.Schedule(at, at+1, at+7, at+40); err != nil {
					c.t.Fatal(err)
				}
				l.update(10, 0)
				l.trim(c.rng.IntN(9))
				l.update(30, 1)
				held = append(held, l.captured()...)
			case op < 7 && len(held) > 0:
				l.restore(held[c.rng.IntN(len(held))])
			case len(held) > 0:
				i := c.rng.IntN(len(held))
				held[i].check(c)
				held[i].release(c)
				held = slices.Delete(held, i, i+1)
			}
			if c.rng.IntN(10) == 0 {
				l, other = other, l
			}
		}
		l.free()
		other.free()
		for _, h := range held {
			h.check(c)
			h.release(c)
		}
	}
}
