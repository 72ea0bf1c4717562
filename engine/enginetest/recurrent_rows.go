package enginetest

import (
	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// testRecurrentUpdate takes in runs of many sizes.
func testRecurrentUpdate(c *recurrentTest) {
	for _, n := range []int{1, 2, 3, 7, cache.MaxBlock, cache.MaxBlock + 1, 100} {
		l := c.open()
		if b := l.cache.Bytes(); b != 0 {
			c.t.Errorf("an empty cache has %d bytes", b)
		}
		for range 4 {
			l.update(n, 0)
			h := l.snapshot()
			h.check(c)
			h.release(c)
			if got, want := l.cache.Bytes(), sizeOf(l.cache.Arrays()); got != want || got == 0 {
				c.t.Errorf("Bytes is %d, the arrays hold %d", got, want)
			}
		}
		l.free()
	}
}

// testRecurrentTrim drops every number of rows of runs of many sizes, in one go
// and in two, and goes on.
func testRecurrentTrim(c *recurrentTest) {
	for _, n := range []int{1, 2, 9, cache.MaxBlock, cache.MaxBlock + 5, 80} {
		for drop := range min(n, cache.MaxBlock) + 1 {
			l := c.open()
			l.update(1+c.rng.IntN(5), 0)
			l.update(n, 0)
			if drop > 1 && drop%3 == 0 {
				l.trim(1)
				h := l.snapshot() // replays, and is replayed again
				h.check(c)
				h.release(c)
				l.trim(drop - 1)
			} else {
				l.trim(drop)
			}
			h := l.snapshot()
			h.check(c)
			l.update(1+c.rng.IntN(4), 0)
			l.trim(1)
			l.update(2, 0)
			h.check(c)
			if drop%2 == 0 {
				l.trim(2)
				late := l.snapshot()
				l.free() // under a state that was not evaluated
				late.check(c)
				late.release(c)
			} else {
				l.free()
			}
			h.release(c)
		}
	}
}

// testRecurrentPadding checks that padding is not taken in.
func testRecurrentPadding(c *recurrentTest) {
	l := c.open()
	for _, n := range []int{1, 3, 8, 40} {
		for _, pad := range []int{1, 7} {
			at := l.cache.Offset()
			if err := l.cache.Schedule(at, at+n, at+n+pad+1); err != nil {
				c.t.Fatal(err)
			}
			l.update(n, pad)
			got := l.captured()
			if len(got) != 1 {
				c.t.Fatalf("%d captures at the end of %d rows with %d of padding", len(got), n, pad)
			}
			got[0].check(c)
			got[0].release(c)
			l.trim(c.rng.IntN(min(n, cache.MaxBlock)))
		}
	}
	l.free()
}

// testRecurrentSchedule compares captures inside a run with their expected contents. Some captures
// are crossed again after a trim.
func testRecurrentSchedule(c *recurrentTest) {
	for _, start := range []int{0, 1, 50} {
		l := c.open()
		if start > 0 {
			l.update(start, 0)
		}
		offsets := []int{start + 1, start + 12, start + 23, start + 24, start + 26, start + 500}
		if err := l.cache.Schedule(start, offsets...); err != nil {
			c.t.Fatal(err)
		}
		l.update(20, 0)
		l.trim(13) // the second is undone
		l.update(17, 0)
		l.update(10, 0)
		got := l.captured()
		if len(got) != 5 {
			c.t.Fatalf("captured %d of the 5 offsets crossed", len(got))
		}
		for i, h := range got {
			if h.snap.To() != offsets[i] {
				c.t.Errorf("capture %d is at %d, want %d", i, h.snap.To(), offsets[i])
			}
			h.check(c)
		}
		l.update(600, 0)
		if late := l.captured(); len(late) != 0 {
			c.t.Errorf("an offset of the old schedule was captured")
		}
		for _, h := range got {
			h.check(c)
			h.release(c)
		}
		l.free()
	}
}

// testRecurrentRestore goes back to states of this cache, of others and of none.
func testRecurrentRestore(c *recurrentTest) {
	l, fresh := c.open(), c.open()
	empty := l.snapshot()
	l.update(9, 0)
	old := l.snapshot()
	l.update(5, 0)
	l.restore(old)
	if err := l.cache.Trim(1); err == nil {
		c.t.Error("rows before a restore were dropped")
	}
	l.update(3, 0)
	l.trim(3)
	l.update(4, 0)
	fresh.restore(old)
	fresh.update(1, 0)
	l.restore(empty)
	l.update(2, 0)
	old.check(c)
	l.free()
	old.check(c)
	// A schedule that is freed with its cache, or by a restore, leaks nothing.
	if err := fresh.cache.Schedule(fresh.cache.Offset(), fresh.cache.Offset()+1); err != nil {
		c.t.Fatal(err)
	}
	fresh.update(2, 0)
	fresh.restore(old)
	if late := fresh.captured(); len(late) != 0 {
		c.t.Error("a capture survived a restore")
	}
	if err := fresh.cache.Schedule(fresh.cache.Offset(), fresh.cache.Offset()+1); err != nil {
		c.t.Fatal(err)
	}
	fresh.update(2, 0)
	fresh.free()
	old.release(c)
	empty.release(c)
}

// A heldSource has the arrays of a state.
type heldSource struct {
	tail, state []float32
	shape       []int // of state
}

// Rows implements cache.Source.
func (h heldSource) Rows(s *mlx.Scope) (k, v *mlx.Array) {
	return mlx.New(s, h.tail, toyTail, toyWidth), mlx.New(s, h.state, h.shape...)
}

// testRecurrentSource spills a state and restores it from where it was stored.
func testRecurrentSource(c *recurrentTest) {
	l, fresh := c.open(), c.open()
	l.update(9, 0)
	h := l.snapshot()
	if n := h.snap.Spill(); n != 0 || h.snap.Bytes() == 0 {
		c.t.Errorf("%d bytes were spilled that no other cache holds", n)
	}
	tail, state, _ := c.toyAfter(h.rows)
	h.snap.Store(heldSource{tail, state, c.state})
	h.check(c)
	l.update(5, 0)
	size := h.snap.Bytes()
	if n := h.snap.Spill(); n != size || h.snap.Bytes() != 0 {
		c.t.Errorf("%d bytes of %d were spilled", n, size)
	}
	for _, other := range []*liveState{l, fresh} {
		other.restore(h)
		now := other.snapshot()
		now.check(c)
		now.release(c)
		other.update(3, 0)
		other.trim(2)
		other.update(1, 0)
	}
	stored := heldState{cache.NewStored(0, 9, heldSource{tail, state, c.state}), h.rows}
	l.restore(stored)
	l.update(2, 0)
	stored.release(c)
	h.release(c)
	l.free()
	fresh.free()
}

// testRecurrentRefuse checks that what cannot be done is an error and leaves
// the state alone.
func testRecurrentRefuse(c *recurrentTest) {
	l := c.open()
	l.update(50, 0)
	at := l.cache.Offset()
	snap := l.snapshot()
	kv := (&cacheTest{t: c.t, th: c.th, rng: c.rng,
		kind: CacheKind{New: func() cache.Attention { return cache.NewKV(0) }}}).open()
	kv.update(50)
	rows := kv.snapshot(0)
	refuse := func(what string, err error) {
		c.t.Helper()
		if err == nil {
			c.t.Errorf("%s was not refused", what)
		}
		if got := l.cache.Offset(); got != at {
			c.t.Fatalf("%s moved the offset from %d to %d", what, at, got)
		}
	}
	refuse("trim of more than there is", l.cache.Trim(at+1))
	refuse("negative trim", l.cache.Trim(-1))
	refuse("trim of more than a block", l.cache.Trim(cache.MaxBlock+1))
	refuse("schedule at the offset", l.cache.Schedule(at, at))
	refuse("schedule of rows that are not there", l.cache.Schedule(at+1, at+2))
	fail := func(what string, fn func(s *mlx.Scope) error) {
		c.t.Helper()
		refuse(what, c.th.Do(c.t.Context(), fn))
	}
	restore := func(p *cache.Snapshot, to int) func(*mlx.Scope) error {
		return func(s *mlx.Scope) error { return l.cache.Restore(s, []*cache.Snapshot{p}, to) }
	}
	fail("snapshot beyond the offset",
		func(s *mlx.Scope) error { _, err := l.cache.Snapshot(s, at+1); return err })
	fail("restore before the state", restore(snap.snap, at-1))
	fail("restore from nil", restore(nil, at))
	fail("restore from rows", restore(rows.snap, at))
	fail("restore from nothing", func(s *mlx.Scope) error { return l.cache.Restore(s, nil, 1) })
	fail("restore of rows from a state",
		func(s *mlx.Scope) error { return kv.cache.Restore(s, []*cache.Snapshot{snap.snap}, at) })
	fail("split of a state", func(s *mlx.Scope) error { _, _, err := snap.snap.Split(s, at-1); return err })
	fail("join of states", func(s *mlx.Scope) error { _, err := snap.snap.Join(s, snap.snap); return err })
	update := func(d mlx.Dtype, n, width, pad, gates int) func(*mlx.Scope) error {
		return func(s *mlx.Scope) error {
			l.cache.Update(s, pad, s.Zeros(d, n, width), s.Zeros(d, gates, 1))
			return s.Err()
		}
	}
	fail("update without rows", update(mlx.Float32, 0, toyWidth, 0, 0))
	fail("update with padding alone", update(mlx.Float32, 2, toyWidth, 2, 2))
	fail("update of another width", update(mlx.Float32, 2, toyWidth+1, 0, 2))
	fail("update in another type", update(mlx.Float16, 2, toyWidth, 0, 2))
	fail("update with inputs for other rows", update(mlx.Float32, 2, toyWidth, 0, 3))

	c.do(func(s *mlx.Scope) error {
		out := l.cache.Update(s, 2, s.Zeros(mlx.Float32, 5, toyWidth), s.Zeros(mlx.Float32, 5, 1))
		return s.Eval(append(l.cache.Arrays(), out)...)
	})
	at += 5
	refuse("trim of half the padding", l.cache.Trim(1))
	fail("snapshot of padding",
		func(s *mlx.Scope) error { _, err := l.cache.Snapshot(s, 0); return err })
	fail("update after padding", update(mlx.Float32, 2, toyWidth, 0, 2))
	if err := l.cache.Trim(5); err != nil {
		c.t.Error(err)
	}
	at -= 5
	l.update(1, 0)
	snap.check(c)
	snap.release(c)
	rows.release(kv.c)
	kv.free()
	l.free()
	c.mustPanic("second release", snap.snap.Release)
}
