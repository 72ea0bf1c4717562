package pool

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/engine/mlx"
)

// The time of a load does not include other work on the thread meanwhile.
func TestLoadTimeLeavesOutTheWorkOfOthers(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "tiny"), NoCheckpoints: true})
	var stop atomic.Bool
	var other sync.WaitGroup
	// The others' work takes time. That time is what the test is about.
	other.Go(func() {
		for !stop.Load() {
			if err := r.thread.Do(t.Context(),
				func(*mlx.Scope) error { time.Sleep(20 * time.Millisecond); return nil }); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer other.Wait()
	defer stop.Store(true)
	// One load may be over before the other one is back in the queue.
	for range 1000 {
		begun, lent := time.Now(), r.thread.Lent()
		if err := r.pool.Load(t.Context(), "tiny"); err != nil {
			t.Fatal(err)
		}
		all, given := time.Since(begun), r.thread.Lent()-lent
		m := r.pool.look().model()
		if m.took+given > all {
			t.Errorf("a load that took %v beside %v of others counts as %v", all, given, m.took)
		}
		if given > 0 {
			return
		}
		if err := r.pool.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("no other work ran during 1000 loads")
}
