package cache_test

import (
	"math"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

func TestKVPassesTheSuite(t *testing.T) {
	enginetest.TestCache(t, enginetest.CacheKind{New: func() cache.Attention { return cache.NewKV(0) }})
}

func TestKVWithWindowPassesTheSuite(t *testing.T) {
	for _, window := range []int{1, 4, 16} {
		kind := enginetest.CacheKind{
			New: func() cache.Attention { return cache.NewKV(window) }, Window: window,
		}
		t.Run(kind.String(), func(t *testing.T) { enginetest.TestCache(t, kind) })
	}
}

func TestQuantizedPassesTheSuite(t *testing.T) {
	for _, bits := range []int{8, 4} {
		kind := enginetest.CacheKind{
			New: func() cache.Attention { return cache.NewQuantized(bits) }, Bits: bits,
		}
		t.Run(kind.String(), func(t *testing.T) { enginetest.TestCache(t, kind) })
	}
}

func TestRotatingPassesTheSuite(t *testing.T) {
	for _, c := range []struct{ window, chunk int }{
		{2, 8}, {4, 1}, {8, 16}, {16, 40}, {300, 64}, {64, 0},
	} {
		slack := max(c.chunk, cache.MaxBlock)
		if c.chunk == 0 {
			slack = cache.MaxChunk
		}
		kind := enginetest.CacheKind{
			New:    func() cache.Attention { return cache.NewRotating(c.window, c.chunk) },
			Window: c.window, MaxRows: slack,
		}
		t.Run(kind.String(), func(t *testing.T) { enginetest.TestCache(t, kind) })
	}
}

// TestRingEqualsFull runs the bit suite's layers, under any BLAS, on rings and on full caches with
// the same windows.
func TestRingEqualsFull(t *testing.T) {
	m := newBitModel(t, mlx.Float32)
	for _, chunk := range []int{1, 7, bitChunk} {
		rings := []cache.Cache{cache.NewRotating(bitWindow, bitChunk),
			cache.NewRotating(2*bitWindow, bitChunk)}
		full := []cache.Cache{cache.NewKV(bitWindow), cache.NewKV(2 * bitWindow)}
		for pos := 0; pos < bitRows; pos += chunk {
			n := min(chunk, bitRows-pos)
			got, want := m.forward(t, rings, pos, n), m.forward(t, full, pos, n)
			for i, w := range want {
				if d := math.Abs(float64(got[i] - w)); d > 1e-5*max(1, math.Abs(float64(w))) {
					t.Fatalf("updates of %d rows: row %d differs by %g", chunk, pos+i/bitHidden, d)
				}
			}
		}
		do(t, m.th, func(s *mlx.Scope) error {
			for i := range rings {
				rings[i].Free(s)
				full[i].Free(s)
			}
			return nil
		})
	}
}

// TestUpdateWritesInPlace appends single rows to caches of 33 MB while a lazy snapshot exists. A
// copy of the buffer at any step shows in the peak.
func TestUpdateWritesInPlace(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	for _, c := range []cache.Attention{cache.NewKV(0), cache.NewRotating(4000, 64),
		cache.NewQuantized(8)} {
		_, packed := c.(*cache.Quantized) // its view is not the buffer, so nothing attends it here
		update := func(n int) (peak int64) {
			do(t, th, func(s *mlx.Scope) error { s.ClearCache(); s.ResetPeak(); return nil })
			before := th.Memory().Active
			do(t, th, func(s *mlx.Scope) error {
				x := s.Zeros(mlx.Float32, 1, 8, n, 128)
				view := c.Update(s, x, x)
				keep := c.Arrays()
				if n == 1 && !packed {
					keep = append(keep, enginetest.Attend(s, x, view, 1))
				}
				return s.Eval(keep...)
			})
			return th.Memory().Peak - before
		}
		for c.Offset() < 4096 {
			update(64)
		}
		var p *cache.Snapshot
		do(t, th, func(s *mlx.Scope) (err error) { p, err = c.Snapshot(s, 0); return err })
		for range 100 { // the ring overwrites the snapshot on the way
			was := p.Bytes()
			if got, limit := update(1)-(p.Bytes()-was), c.Bytes()/8; got > limit {
				t.Errorf("%T at %d: peak rose by %d bytes, %d at most wanted: the buffer was copied",
					c, c.Offset(), got, limit)
			}
		}
		if c.NeedsExact() == p.Lazy() {
			t.Errorf("%T: snapshot lazy %v", c, p.Lazy())
		}
		do(t, th, func(s *mlx.Scope) error { p.Release(); c.Free(s); return nil })
	}
}

// TestExpectedEndBoundsReservation expects no reserved rows beyond the expected end of a sequence.
// The end that the cache was made for and the sizes of its updates do not matter. The cache grows
// further if the sequence does.
func TestExpectedEndBoundsReservation(t *testing.T) {
	th := enginetest.NewThread(t)
	const most, window = 2100, 4096
	for _, window := range []int{0, window} {
		for _, step := range []int{1, 7, 512} {
			for _, made := range []int{most, 600} { // for a sequence of this many positions
				c := cache.New(cache.Options{Rows: made}, window)
				add := func(n int) {
					do(t, th, func(s *mlx.Scope) error {
						x := s.Zeros(mlx.Float32, 1, 1, n, 2)
						c.Update(s, x, x)
						return s.Eval(c.Arrays()...)
					})
				}
				const row = 2 * 2 * 4 // bytes
				for expected := made; c.Offset() < most; {
					if c.Offset() >= made-step {
						expected = most
						c.Expect(most) // another request goes on with it
					}
					add(min(step, most-c.Offset()))
					if held := c.Bytes() / row; held > int64(expected)+256 ||
						held < int64(c.Offset()) {
						t.Fatalf("window %d, made for %d, steps of %d: at %d of %d positions it holds %d",
							window, made, step, c.Offset(), expected, held)
					}
				}
				for range 500 {
					add(1)
				}
				if held := c.Bytes() / row; held < most+500 || held > most+500+256 {
					t.Errorf("window %d: %d positions lie in %d rows", window, most+500, held)
				}
				do(t, th, func(s *mlx.Scope) error { c.Free(s); return nil })
			}
		}
	}
}

// TestCopyReleasesTheBuffer frees a cache that has a snapshot of a few of its rows. The snapshot
// must not hold the other rows.
func TestCopyReleasesTheBuffer(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	c := cache.NewKV(0)
	var p *cache.Snapshot
	do(t, th, func(s *mlx.Scope) (err error) {
		x := s.Zeros(mlx.Float32, 1, 1, 2048, 64) // with one head a slice is contiguous
		c.Update(s, x, x)
		if err := s.Eval(c.Arrays()...); err != nil {
			return err
		}
		p, err = c.Snapshot(s, 2040)
		return err
	})
	held := th.Memory().Active
	do(t, th, func(s *mlx.Scope) error { c.Free(s); return nil })
	if n := th.Memory().Active; n > held/8 {
		t.Errorf("a snapshot of %d bytes holds %d of %d", p.Bytes(), n, held)
	}
	do(t, th, func(*mlx.Scope) error { p.Release(); return nil })
}

// TestRingDropsAsManyRowsAsItsSlack drops exactly as many rows as the slack allows, after a wrap
// and after a restore, and then one more.
func TestRingDropsAsManyRowsAsItsSlack(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	c := cache.NewRotating(8, 1) // R = 7 + MaxBlock
	update := func(n int) {
		t.Helper()
		do(t, th, func(s *mlx.Scope) error {
			x := s.Zeros(mlx.Float32, 1, 1, n, 4)
			c.Update(s, x, x)
			return s.Eval(c.Arrays()...)
		})
	}
	trim := func(n int, ok bool) {
		t.Helper()
		if err := c.Trim(n); (err == nil) != ok {
			t.Errorf("trim of %d rows at %d: %v", n, c.Offset(), err)
		}
	}
	for range 100 {
		update(1)
	}
	trim(cache.MaxBlock+1, false)
	trim(cache.MaxBlock, true)
	trim(1, false)
	update(cache.MaxBlock)
	trim(cache.MaxBlock+1, false)
	trim(cache.MaxBlock, true)

	// A restore brings back the window and no more.
	do(t, th, func(s *mlx.Scope) error {
		p, err := c.Snapshot(s, 0)
		if err != nil {
			return err
		}
		defer p.Release()
		return c.Restore(s, []*cache.Snapshot{p}, p.To())
	})
	trim(1, false)
	update(3)
	trim(4, false)
	trim(3, true)
	do(t, th, func(s *mlx.Scope) error { c.Free(s); return nil })

	// Before the window is full every row is held.
	update(7)
	trim(7, true)
	do(t, th, func(s *mlx.Scope) error { c.Free(s); return nil })
}

func TestNewSelectsRingForWindow(t *testing.T) {
	for _, c := range []struct {
		opts   cache.Options
		window int
		ring   bool
	}{
		{cache.Options{}, 0, false},
		{cache.Options{}, 512, true},
		{cache.Options{Layout: cache.Ring}, 512, true},
		{cache.Options{Layout: cache.Full}, 512, false},
	} {
		if got := cache.New(c.opts, c.window).NeedsExact(); got != c.ring {
			t.Errorf("%+v, window %d: ring %v", c.opts, c.window, got)
		}
	}
}
