package enginetest

import (
	"errors"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// testCacheRestore takes a snapshot, writes on, by another branch too, and restores it: into the
// same cache while it is lazy, after it was copied out, and into a fresh one.
func testCacheRestore(c *cacheTest) {
	for _, more := range []int{0, 1, 8, 2 * c.horizon()} {
		l, fresh := c.open(), c.open()
		for l.cache.Offset() < c.horizon()+5 {
			l.update(min(11, c.maxRows()))
		}
		old := l.snapshot(0)
		write := func() {
			for done := 0; done < more; {
				n := min(c.maxRows(), more-done)
				l.update(n)
				done += n
			}
		}
		write()
		old.check(c)
		l.restore(cacheChain{old}, old.to())
		l.update(1) // overwrites the other branch
		l.update(min(9, c.maxRows()))
		l.trim(2)
		write()
		old.check(c)
		fresh.restore(cacheChain{old}, old.to())
		fresh.update(2)
		l.restore(cacheChain{old}, old.to())
		l.update(min(17, c.maxRows()))
		old.release(c)
		fresh.update(1)
		l.free()
		fresh.update(3)
		fresh.free()
	}
}

// testCacheRestoreSeveral restores adjacent snapshots, some copied out, some
// lazy, up to every boundary and to positions between where that is allowed.
func testCacheRestoreSeveral(c *cacheTest) {
	l := c.open()
	l.update(min(9, c.maxRows()))
	ch := l.captureChain()
	for range 3 {
		l.trim(1) // the last capture is copied out when its rows are written again
		l.update(min(4, c.maxRows()))
		ch.check(c)
		end := l.cache.Offset()
		part := l.snapshot(ch[len(ch)-1].to() - 1)
		if !l.cache.NeedsExact() {
			all := l.snapshot(0)
			l.restore(cacheChain{all}, end-2)
			all.release(c)
		}
		part.check(c)
		part.release(c)
	}
	for _, other := range []*liveCache{l, c.open()} {
		for n := range ch {
			other.restore(ch[:n+1], ch[n].to())
			other.update(1)
			if !other.cache.NeedsExact() {
				other.restore(ch[:n+1], ch[n].to()-1)
				other.update(2)
			}
		}
		if other != l {
			other.free()
		}
	}
	ch.release(c)
	l.free()
}

// testCacheSchedule compares captures taken while a write crosses them with
// snapshots taken by cutting the writes there.
func testCacheSchedule(c *cacheTest) {
	for _, start := range []int{0, 1, c.horizon() - 3, c.horizon() + 20} {
		whole, cut := c.open(), c.open()
		for whole.cache.Offset() < start {
			rows := c.newRows(min(c.maxRows(), start-whole.cache.Offset()))
			whole.append(rows)
			cut.append(rows)
		}
		n := min(24, c.maxRows())
		offsets := []int{start + 1, start + n/2, start + n - 1, start + n, start + n + 2,
			start + 10*n}
		if err := whole.cache.Schedule(max(0, start-2), offsets...); err != nil {
			c.t.Fatal(err)
		}
		rows := c.newRows(n + 5)
		whole.append(rows[:n])
		whole.append(rows[n:])
		var want cacheChain
		from, done := max(0, start-2), 0
		for _, o := range offsets[:5] {
			cut.append(rows[done : o-start])
			want = append(want, cut.snapshot(from))
			from, done = o, o-start
		}
		got := whole.captured()
		if len(got) != len(want) {
			c.t.Fatalf("captured %d of the 5 offsets crossed from %d", len(got), start)
		}
		for i := range got {
			if got[i].snap.From() != want[i].snap.From() || got[i].to() != want[i].to() {
				c.t.Errorf("capture %d holds %d to %d, want %d to %d",
					i, got[i].snap.From(), got[i].to(), want[i].snap.From(), want[i].to())
			}
			c.sameRows("captured", got[i].read(c), want[i].read(c))
			got[i].check(c)
		}
		if again := whole.captured(); len(again) != 0 {
			c.t.Errorf("captures handed over twice")
		}
		// What was not reached is forgotten.
		whole.append(c.newRows(min(9, c.maxRows())))
		if late := whole.captured(); len(late) != 0 {
			c.t.Errorf("an offset of the old schedule was captured")
		}
		got.release(c)
		want.release(c)
		whole.free()
		cut.free()
	}
}

// testCacheScheduleTrimmed rejects rows across a scheduled offset: the capture
// has to hold the rows written later.
func testCacheScheduleTrimmed(c *cacheTest) {
	l := c.open()
	for l.cache.Offset() < c.horizon()+3 {
		l.update(min(10, c.maxRows()))
	}
	at := l.cache.Offset()
	base := l.snapshot(0)
	if err := l.cache.Schedule(at, at+2, at+4); err != nil {
		c.t.Fatal(err)
	}
	l.update(6)
	l.trim(3)
	l.update(6)
	got := l.captured()
	if len(got) != 2 || got[0].to() != at+2 || got[1].to() != at+4 {
		c.t.Fatalf("got captures %v", got)
	}
	for _, p := range got {
		p.check(c)
	}
	l.restore(append(cacheChain{base}, got...), at+4)
	l.update(3)

	// A schedule that is freed with its cache, or by a restore, leaks nothing.
	if err := l.cache.Schedule(l.cache.Offset(), l.cache.Offset()+1); err != nil {
		c.t.Fatal(err)
	}
	l.update(2)
	l.restore(cacheChain{base}, base.to())
	if late := l.captured(); len(late) != 0 {
		c.t.Errorf("a capture survived a restore")
	}
	if err := l.cache.Schedule(l.cache.Offset(), l.cache.Offset()+1); err != nil {
		c.t.Fatal(err)
	}
	l.update(2)
	got.release(c)
	base.release(c)
	l.free()
}

// testCacheAccounting follows the bytes of snapshots from zero to copied out.
func testCacheAccounting(c *cacheTest) {
	l := c.open()
	if n := l.cache.Bytes(); n != 0 {
		c.t.Errorf("an empty cache has %d bytes", n)
	}
	for l.cache.Offset() < c.horizon()+7 {
		l.update(min(13, c.maxRows()))
	}
	if got, want := l.cache.Bytes(), sizeOf(l.cache.Arrays()); got != want || got == 0 {
		c.t.Errorf("Bytes is %d, buffers hold %d", got, want)
	}
	p := l.snapshot(0)
	shared := p.snap.Retain()
	if !shared.Lazy() || shared.Bytes() != 0 || p.observed != 0 {
		c.t.Errorf("a new snapshot has %d bytes, observed %d", shared.Bytes(), p.observed)
	}
	rows := int64(p.to() - p.snap.From())
	want := rows * c.rowBytes()
	stays := c.kind.Sink > 0 && c.kind.Window == 1 // the sink alone, which nothing overwrites
	if stays {
		want = 0
	}
	// Write until every row has been overwritten.
	at := l.cache.Offset()
	if l.cache.NeedsExact() {
		for l.cache.Offset() < at+2*c.horizon() {
			l.update(1)
		}
	} else {
		l.trim(1)
		l.update(1)
	}
	if shared.Lazy() != stays || shared.Bytes() != want || p.observed != want {
		c.t.Errorf("copied out: lazy %v, %d bytes, observed %d, want %d",
			shared.Lazy(), shared.Bytes(), p.observed, want)
	}
	late := int64(0)
	shared.Observe(func(n int64) { late += n })
	if late != want {
		c.t.Errorf("a late observer heard of %d bytes, want %d", late, want)
	}
	p.check(c)
	p.release(c)
	c.do(func(*mlx.Scope) error { shared.Release(); return nil })
	l.free()
	if n := l.cache.Bytes(); n != 0 {
		c.t.Errorf("a freed cache has %d bytes", n)
	}
}

// testCacheFreeOwner frees a cache under its lazy snapshots.
func testCacheFreeOwner(c *cacheTest) {
	l := c.open()
	for l.cache.Offset() < c.horizon()+7 {
		l.update(min(13, c.maxRows()))
	}
	p, gone := l.snapshot(0), l.snapshot(0)
	gone.release(c)
	full := c.active()
	l.free()
	if p.snap.Lazy() || p.observed != p.snap.Bytes() || p.observed == 0 {
		c.t.Errorf("after Free: lazy %v, %d bytes, observed %d",
			p.snap.Lazy(), p.snap.Bytes(), p.observed)
	}
	// MLX shares a buffer that is at most 16 KB larger than the copy.
	const shared = 2 * 16384
	if n := c.active() - c.start; n > p.observed+shared || n > full-c.start {
		c.t.Errorf("%d bytes stay active for a snapshot of %d", n, p.observed)
	}
	p.check(c)
	next := c.open()
	next.restore(cacheChain{p}, p.to())
	p.release(c)
	next.update(2)
	next.free()
}

// testCacheSplit cuts snapshots in two and joins them again, lazy ones, copied
// ones and one of each.
func testCacheSplit(c *cacheTest) {
	if c.kind.New().NeedsExact() {
		return // its snapshots are a state, not a run of rows
	}
	l := c.open()
	l.update(20)
	whole, other := l.snapshot(4), l.snapshot(0)
	split := func(p *heldRows, at int) (head, tail *heldRows) {
		c.do(func(s *mlx.Scope) error {
			a, b, err := p.snap.Split(s, at)
			if err == nil {
				head, tail = hold(a, p.rows), hold(b, p.rows)
				p.snap.Release()
			}
			return err
		})
		return head, tail
	}
	join := func(a, b *heldRows) (all *heldRows) {
		c.do(func(s *mlx.Scope) error {
			p, err := a.snap.Join(s, b.snap)
			if err == nil {
				all = hold(p, b.rows)
				a.snap.Release()
				b.snap.Release()
			}
			return err
		})
		return all
	}
	c.do(func(s *mlx.Scope) error {
		for _, at := range []int{3, 4, 20, 21} {
			if _, _, err := whole.snap.Split(s, at); err == nil {
				c.t.Errorf("a snapshot of 4 to 20 was cut at %d", at)
			}
		}
		if _, err := whole.snap.Join(s, other.snap); err == nil {
			c.t.Errorf("snapshots that are not adjacent were joined")
		}
		return nil
	})
	head, tail := split(whole, 9)
	if !head.snap.Lazy() || !tail.snap.Lazy() {
		c.t.Errorf("the parts of a lazy snapshot are not lazy")
	}
	whole = join(head, tail)
	if !whole.snap.Lazy() {
		c.t.Errorf("two lazy parts became no lazy whole")
	}
	head, tail = split(whole, 15)
	l.trim(3)
	l.update(2) // overwrites rows of tail
	if !head.snap.Lazy() || tail.snap.Lazy() {
		c.t.Errorf("lazy %v and %v, want one of each", head.snap.Lazy(), tail.snap.Lazy())
	}
	head.check(c)
	tail.check(c)
	whole = join(head, tail)
	whole.check(c)
	head, tail = split(whole, 7)
	head.check(c)
	tail.check(c)
	whole = join(head, tail)
	whole.check(c)
	fresh := c.open()
	first := l.snapshot(0)
	other.check(c)
	other.release(c)
	fresh.restore(cacheChain{first}, first.to())
	first.release(c)
	whole.release(c)
	l.free()
	fresh.free()
}

// A shelf is a source that holds rows outside of MLX.
type shelf struct {
	c      *cacheTest
	rows   [2][]uint32
	n      int
	broken bool
}

func (f *shelf) Rows(s *mlx.Scope) (k, v *mlx.Array) {
	if f.broken {
		s.Fail(errors.New("the shelf is empty"))
		return nil, nil
	}
	key, value := f.c.heldDims()
	words := func(rows []uint32, dim int) *mlx.Array {
		x := mlx.New(s, rows, 1, kvHeads, f.n, dim)
		if f.c.kind.Bits == 0 {
			x = s.View(x, mlx.Float32)
		}
		return x
	}
	return words(f.rows[0], key), words(f.rows[1], value)
}

// testCacheStored spills rows that a source has, and restores from there.
func testCacheStored(c *cacheTest) {
	l := c.open()
	for l.cache.Offset() < c.horizon()+7 {
		l.update(min(13, c.maxRows()))
	}
	p := l.snapshot(0)
	src := &shelf{c: c, rows: p.read(c), n: p.to() - p.snap.From()}
	if n := p.snap.Spill(); n != 0 {
		c.t.Errorf("%d bytes of lazy rows were spilled", n)
	}
	p.snap.Store(src)
	l.free() // copies out
	size := p.observed
	if n := p.snap.Spill(); n != size || p.snap.Bytes() != 0 {
		c.t.Errorf("%d of %d bytes were spilled", n, size)
	}
	p.observed = 0
	p.check(c)
	fresh := c.open()
	fresh.restore(cacheChain{p}, p.to())
	fresh.update(3)
	stored := hold(cache.NewStored(p.snap.From(), p.to(), src), p.rows)
	stored.check(c)
	if !fresh.cache.NeedsExact() {
		var head, tail *cache.Snapshot
		c.do(func(s *mlx.Scope) (err error) {
			head, tail, err = stored.snap.Split(s, p.to()-5)
			stored.snap.Release()
			return err
		})
		if !head.Stored() || !tail.Stored() || head.Bytes()+tail.Bytes() > 0 {
			c.t.Errorf("the parts of stored rows are in memory")
		}
		hold(tail, p.rows).check(c)
		c.do(func(s *mlx.Scope) error {
			all, err := head.Join(s, tail)
			if err == nil {
				stored = hold(all, p.rows)
			}
			head.Release()
			tail.Release()
			return err
		})
		stored.check(c)
	}
	stored.release(c)
	src.broken = true
	if err := c.th.Do(c.t.Context(), func(s *mlx.Scope) error {
		other := c.kind.New()
		defer other.Free(s)
		return other.Restore(s, []*cache.Snapshot{p.snap}, p.to())
	}); err == nil {
		c.t.Error("rows that no cache holds were restored")
	}
	p.release(c)
	fresh.free()
}

func sizeOf(arrays []*mlx.Array) int64 {
	n := int64(0)
	for _, a := range arrays {
		n += a.Bytes()
	}
	return n
}
