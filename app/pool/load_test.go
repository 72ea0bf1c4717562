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
		if m.loadTime+given > all {
			t.Errorf("a load that took %v beside %v of others counts as %v", all, given, m.loadTime)
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

// A request that waits for the owner is answered once its model is in memory, whatever other change
// begins then.
func TestRequestDoesNotWaitForTheChangeAfterItsModelsLoad(t *testing.T) {
	r := startWithRoom(t, 10, "one", "two")
	row, err := r.db.Models.Get(t.Context(), "two")
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan struct{})
	var waiting sync.WaitGroup
	r.onOwner(t, func(o *owner) {
		waiting.Go(func() {
			r.onOwner(t, func(*owner) {
				select {
				case <-answered:
				case <-time.After(10 * time.Second):
					t.Error("the request waits for another change")
				}
			})
		})
		time.Sleep(20 * time.Millisecond) // so that the other change is before the request
		waiting.Go(func() {
			m, err := r.pool.Acquire(t.Context(), "two")
			if err != nil {
				t.Error(err)
				return
			}
			m.Release()
			close(answered)
		})
		time.Sleep(20 * time.Millisecond)
		if _, err := o.load(t.Context(), row, false); err != nil {
			t.Error(err)
		}
	})
	waiting.Wait()
}
