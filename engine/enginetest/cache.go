package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// A CacheKind tells TestCache what to make and what to expect of it.
type CacheKind struct {
	New     func() cache.Attention
	Window  int // positions a query attends, its own included; 0 = all
	MaxRows int // rows of the largest Update; 0 = no bound
	Sink    int // first positions that each query attends too, beside its window
	Bits    int // of an element of a quantized row; 0 = rows are held as they are written
}

// dims returns the elements of a key and of a value. Values are narrower. Rows that are quantized have
// groups of 64 and of 32 elements.
func (k CacheKind) dims() (key, value int) {
	if k.Bits > 0 {
		return 64, 32
	}
	return 8, 4
}

// TestCache checks that caches of a kind keep the contract of cache.Attention. The
// oracle is a plain list of rows in Go with attention in float64. Each subtest
// also checks that MLX's active memory returns to what it was.
func TestCache(t *testing.T, kind CacheKind) {
	for _, sub := range []struct {
		name string
		run  func(*cacheTest)
	}{
		{"Attend", testCacheAttend},
		{"Chunking", testCacheChunking},
		{"Trim", testCacheTrim},
		{"Refuse", testCacheRefuse},
		{"View", testCacheView},
		{"Restore", testCacheRestore},
		{"RestoreSeveral", testCacheRestoreSeveral},
		{"Schedule", testCacheSchedule},
		{"ScheduleTrimmed", testCacheScheduleTrimmed},
		{"Accounting", testCacheAccounting},
		{"FreeOwner", testCacheFreeOwner},
		{"Split", testCacheSplit},
		{"Stored", testCacheStored},
		{"Random", testCacheRandom},
	} {
		t.Run(sub.name, func(t *testing.T) { sub.run(newCacheTest(t, kind)) })
	}
}

// testCacheAttend appends by runs of many sizes, across every wrap.
func testCacheAttend(c *cacheTest) {
	for _, n := range []int{1, 2, 3, 5, 8, 13, 32, c.maxRows()} {
		l := c.open()
		for l.cache.Offset() < 2*c.horizon() {
			l.update(min(n, c.maxRows()))
		}
		l.update(1)
		l.free()
	}
}

// testCacheChunking writes the same rows to two caches, to one by single rows,
// to the other by runs, some of them rejected in part. Contents and the next outputs have
// to be equal to the bit.
func testCacheChunking(c *cacheTest) {
	for range 8 {
		plain, cut := c.open(), c.open()
		for plain.cache.Offset() < c.horizon()+40 {
			n := 1 + c.rng.IntN(min(c.maxRows(), 32))
			keep := c.rng.IntN(n + 1)
			rows := c.newRows(n)
			cut.append(rows)
			cut.trim(n - keep)
			for _, r := range rows[:keep] {
				plain.append([]cacheRow{r})
			}
		}
		for _, n := range []int{1, min(7, c.maxRows())} {
			rows, q := c.newRows(n), c.queries(n)
			if a, b := plain.attend(rows, q), cut.attend(rows, q); !slices.Equal(a, b) {
				c.t.Fatalf("at %d the outputs for %d rows depend on how earlier rows were written", plain.cache.Offset(), n)
			}
		}
		a, b := plain.snapshot(0), cut.snapshot(0)
		c.sameRows("chunked", a.read(c), b.read(c))
		a.release(c)
		b.release(c)
		plain.free()
		cut.free()
	}
}

// testCacheTrim drops rows of every number that one update wrote, and more
// where the cache keeps every row.
func testCacheTrim(c *cacheTest) {
	l := c.open()
	for l.cache.Offset() < 2*c.horizon() {
		n := 1 + c.rng.IntN(c.maxRows())
		l.update(n)
		l.trim(c.rng.IntN(n + 1))
		l.update(1)
	}
	if !l.cache.NeedsExact() {
		l.trim(l.cache.Offset() - 3)
		l.update(2)
	}
	l.free()
}

// testCacheView checks that a view of rows that are not there, or whose window is gone, fails the
// scope. Each update of the other tests compares its own view.
func testCacheView(c *cacheTest) {
	l := c.open()
	for l.cache.Offset() < 2*c.horizon() {
		l.update(min(16, c.maxRows()))
	}
	at := l.cache.Offset()
	counts := []int{-1, at + 1}
	if l.cache.NeedsExact() {
		counts = append(counts, at-1)
	}
	for _, n := range counts {
		err := c.th.Do(c.t.Context(), func(s *mlx.Scope) error { l.cache.View(s, n); return nil })
		if err == nil {
			c.t.Errorf("a view of the last %d of %d rows was not refused", n, at)
		}
	}
	l.update(1)
	l.free()
}

// testCacheRefuse checks that what cannot be done is an error and leaves the
// contents alone.
func testCacheRefuse(c *cacheTest) {
	l := c.open()
	for l.cache.Offset() < 2*c.horizon() {
		l.update(min(16, c.maxRows()))
	}
	at := l.cache.Offset()
	snap := l.snapshot(0)
	other := c.open()
	other.update(3)
	short := other.snapshot(0)
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
	if l.cache.NeedsExact() {
		refuse("trim of rows whose window is gone", l.cache.Trim(at-1))
	}
	refuse("schedule at the offset", l.cache.Schedule(at, at))
	refuse("schedule of rows that are not there", l.cache.Schedule(at+1, at+2))
	refuse("schedule out of order", l.cache.Schedule(at, at+5, at+5))
	if err := l.cache.Schedule(at, at+1000); err != nil {
		c.t.Error(err)
	}
	refuse("second schedule", l.cache.Schedule(at, at+2000))
	l.cache.Captured()
	c.do(func(s *mlx.Scope) error {
		_, err := l.cache.Snapshot(s, at+1)
		refuse("snapshot beyond the offset", err)
		refuse("restore beyond the snapshot", l.cache.Restore(s, []*cache.Snapshot{snap.snap}, at+1))
		refuse("restore from nothing", l.cache.Restore(s, nil, 1))
		refuse("restore from nil", l.cache.Restore(s, []*cache.Snapshot{nil}, at))
		if l.cache.NeedsExact() {
			refuse("restore into a snapshot", l.cache.Restore(s, []*cache.Snapshot{snap.snap}, at-1))
		} else {
			refuse("restore with a gap", l.cache.Restore(s, []*cache.Snapshot{short.snap, snap.snap}, at))
		}
		return nil
	})
	refuseUpdates(c, l, refuse)
	l.update(1)
	snap.check(c)
	snap.release(c)
	short.release(c)
	c.mustPanic("second release", snap.snap.Release)
	c.mustPanic("retain after release", func() { snap.snap.Retain() })
	c.do(func(s *mlx.Scope) error {
		at = l.cache.Offset()
		refuse("restore of a released snapshot", l.cache.Restore(s, []*cache.Snapshot{snap.snap}, at-1))
		return nil
	})
	l.free()
	other.free()
}

// refuseUpdates hands over rows that do not fit the cache, for testCacheRefuse.
func refuseUpdates(c *cacheTest, l *liveCache, refuse func(what string, err error)) {
	fail := func(what string, update func(s *mlx.Scope)) {
		c.t.Helper()
		err := c.th.Do(c.t.Context(), func(s *mlx.Scope) error { update(s); return nil })
		refuse(what, err)
	}
	rows := func(n, heads, dim int) func(*mlx.Scope) {
		return func(s *mlx.Scope) {
			x := s.Zeros(mlx.Float32, 1, heads, n, dim)
			l.cache.Update(s, x, s.Zeros(mlx.Float32, 1, heads, n, c.valueDim))
		}
	}
	fail("update without rows", rows(0, kvHeads, c.keyDim))
	fail("update with one head for all", rows(1, 1, c.keyDim))
	fail("update with other dimensions", rows(1, kvHeads, c.keyDim+1))
	fail("update with twice the dimensions", rows(1, kvHeads, 2*c.keyDim))
	if c.kind.MaxRows > 0 {
		fail("update with too many rows", rows(c.kind.MaxRows+1, kvHeads, c.keyDim))
	}
	fail("update in another type", func(s *mlx.Scope) {
		l.cache.Update(s, s.Zeros(mlx.Float16, 1, kvHeads, 1, c.keyDim),
			s.Zeros(mlx.Float16, 1, kvHeads, 1, c.valueDim))
	})
}

// testCacheRandom runs seeded sequences of all operations.
func testCacheRandom(c *cacheTest) {
	for seed := range uint64(12) {
		c.rng = rand.New(rand.NewPCG(seed, 1))
		lives := []*liveCache{c.open()}
		var chains []cacheChain
		for range 60 {
			i := c.rng.IntN(len(lives))
			l := lives[i]
			switch op := c.rng.IntN(10); {
			case op < 4:
				l.update(1 + c.rng.IntN(c.maxRows()))
			case op < 5:
				l.update(1)
				l.trim(c.rng.IntN(2))
			case op < 6:
				chains = append(chains, l.captureChain())
			case op < 8 && len(chains) > 0:
				ch := chains[c.rng.IntN(len(chains))]
				l.restore(ch, ch.target(c))
			case op < 9 && len(chains) > 0:
				j := c.rng.IntN(len(chains))
				chains[j].release(c)
				chains = slices.Delete(chains, j, j+1)
			case len(lives) < 3:
				lives = append(lives, c.open())
			default:
				l.free()
				lives[i] = c.open()
			}
		}
		for _, ch := range chains {
			ch.check(c)
			l := lives[c.rng.IntN(len(lives))]
			l.restore(ch, ch.target(c))
			l.update(1)
			ch.release(c)
		}
		for _, l := range lives {
			l.free()
		}
		if c.t.Failed() {
			c.t.Fatalf("seed %d", seed)
		}
	}
}

// String names a kind in test output.
func (k CacheKind) String() string {
	name := fmt.Sprintf("%T sink %d window %d most %d", k.New(), k.Sink, k.Window, k.MaxRows)
	if k.Bits > 0 {
		name += fmt.Sprintf(" bits %d", k.Bits)
	}
	return name
}
