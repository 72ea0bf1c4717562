package cache_test

import (
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// update appends n rows of zeros, own and restored, and returns what their queries attend.
func (l *divided) update(s *mlx.Scope, heads, n, dim, most int) []cache.Run {
	x := s.Zeros(mlx.Float32, 1, heads, n, dim)
	l.bank.Append(s, x, x)
	return cache.Divided{Window: l.own, Bank: l.bank}.Update(s, x, x, most)
}

// TestFewRowsAreAttendedInTheBank appends single rows and blocks after a text of 33 MB. A copy of the
// bank at any step shows in the peak.
func TestFewRowsAreAttendedInTheBank(t *testing.T) {
	th := enginetest.NewThread(t)
	l := newDivided(cache.Options{}, cache.Bounds{Sink: 4, Window: 64})
	const heads, dim = 8, 128
	update := func(n int) (peak int64) {
		do(t, th, func(s *mlx.Scope) error { s.ClearCache(); s.ResetPeak(); return nil })
		before := th.Memory().Active
		do(t, th, func(s *mlx.Scope) error {
			keep := l.caches().Arrays()
			for _, run := range l.update(s, heads, n, dim, n) {
				keep = append(l.caches().Arrays(), enginetest.Attend(s,
					s.Zeros(mlx.Float32, 1, heads, run.To-run.From, dim), run.View, 1))
			}
			return s.Eval(keep...)
		})
		return th.Memory().Peak - before
	}
	for l.bank.Offset() < 4096 {
		update(64)
	}
	for range 30 { // within the room that the bank has
		for _, n := range []int{1, 8} {
			if got, limit := update(n), l.bank.Bytes()/4; got > limit {
				t.Fatalf("at %d: the peak of %d rows rose by %d bytes, %d at most wanted", l.bank.Offset(),
					n, got, limit)
			}
		}
	}
	do(t, th, func(s *mlx.Scope) error { l.caches().Free(s); return nil })
}

// TestSlotsOfAQueryDependOnItsPositionAlone compares the same query in a step, in a block and in a
// block that began before it. It does so while a ring fills up and after that.
func TestSlotsOfAQueryDependOnItsPositionAlone(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, b := range []cache.Bounds{{Sink: 4, Window: 20}, {Sink: 4, Window: 20, Reach: 60}} {
		slots := map[int]int{} // by position
		for _, n := range []int{1, 8, 5} {
			l := newDivided(cache.Options{Chunk: 32}, b)
			for at := 0; at < 200; at += n {
				do(t, th, func(s *mlx.Scope) error {
					for _, run := range l.update(s, 1, n, 16, cache.MaxBlock) {
						for to := run.From + 1; to <= run.To; to++ {
							want, ok := slots[at+to]
							if got := run.Slots(to); ok && got != want || got > run.K.Dim(2) {
								t.Errorf("%+v: at %d of a block of %d a query sees %d of %d slots, and %d",
									b, at+to, n, got, run.K.Dim(2), want)
							}
							slots[at+to] = run.Slots(to)
						}
					}
					return s.Eval(l.caches().Arrays()...)
				})
			}
			do(t, th, func(s *mlx.Scope) error { l.caches().Free(s); return nil })
		}
	}
}

// TestRowsThatCannotBeAttendedTogetherAreRefused updates with no rows, with more than are restored, and
// with rows of another type than restored ones.
func TestRowsThatCannotBeAttendedTogetherAreRefused(t *testing.T) {
	th := enginetest.NewThread(t)
	l := newDivided(cache.Options{}, cache.Bounds{Window: 8})
	do(t, th, func(s *mlx.Scope) error {
		l.update(s, 1, 4, 16, 4)
		return s.Eval(l.caches().Arrays()...)
	})
	for _, c := range []struct {
		restored, own int
		dtype         mlx.Dtype
	}{{0, 0, mlx.Float32}, {0, 1, mlx.Float32}, {0, 40, mlx.Float32}, {1, 1, mlx.BFloat16}} {
		err := th.Do(t.Context(), func(s *mlx.Scope) error {
			if c.restored > 0 {
				x := s.Zeros(mlx.Float32, 1, 1, c.restored, 16)
				l.bank.Append(s, x, x)
			}
			x := s.Zeros(c.dtype, 1, 1, c.own, 16)
			cache.Divided{Window: l.own, Bank: l.bank}.Update(s, x, x, max(1, c.own))
			return s.Err()
		})
		if err == nil {
			t.Errorf("%+v was not refused", c)
		}
	}
	do(t, th, func(s *mlx.Scope) error { l.caches().Free(s); return nil })
}

// TestASnapshotOfARingOfRestoredRowsIsCopiedAlone takes steps until one overwrites rows of a
// snapshot. The peak is a copy of the snapshot. The write to the front copies no ring.
func TestASnapshotOfARingOfRestoredRowsIsCopiedAlone(t *testing.T) {
	th := enginetest.NewThread(t)
	const heads, dim = 8, 64
	l := newDivided(cache.Options{Chunk: 32}, cache.Bounds{Sink: 4, Window: 20, Reach: 1024})
	update := func(n int) {
		do(t, th, func(s *mlx.Scope) error {
			l.update(s, heads, n, dim, n)
			return s.Eval(l.caches().Arrays()...)
		})
	}
	for l.bank.Offset() < 2048 {
		update(32)
	}
	do(t, th, func(s *mlx.Scope) error {
		p, err := l.bank.Snapshot(s, 0)
		t.Cleanup(p.Release)
		s.ClearCache()
		s.ResetPeak()
		return err
	})
	before := th.Memory().Active
	for range 64 {
		update(1)
	}
	if got, limit := th.Memory().Peak-before, l.bank.Bytes()*3/2; got > limit || got < limit/2 {
		t.Errorf("the peak rose by %d bytes, of a ring of %d", got, l.bank.Bytes())
	}
	do(t, th, func(s *mlx.Scope) error { l.caches().Free(s); return nil })
}
