package models_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// TestLoadLendsTheThread expects that other jobs get turns on the thread while weights are read,
// but not before each tensor.
func TestLoadLendsTheThread(t *testing.T) {
	th, dir := enginetest.NewThread(t), enginetest.TinyModel(t, "llama")
	var turns atomic.Int64
	var stop atomic.Bool
	var other sync.WaitGroup
	other.Go(func() {
		for !stop.Load() {
			if err := th.Do(t.Context(),
				func(*mlx.Scope) error { turns.Add(1); return nil }); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer other.Wait()
	defer stop.Store(true)
	// load returns how many turns there were between the first tensor, which takes so long, and the
	// last, and the time between them.
	load := func(long time.Duration) (int64, time.Duration) {
		var begun time.Time
		var took time.Duration
		first, last := int64(-1), int64(-1)
		b, err := models.Load(t.Context(), th, dir, models.Options{Progress: func(int64, int64) {
			if last = turns.Load(); first < 0 {
				first, begun = last, time.Now()
				time.Sleep(long)
			}
			took = time.Since(begun)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		return last - first, took
	}
	for range 100 {
		if n, took := load(0); n > 1+int64(took/(20*time.Millisecond)) {
			t.Fatalf("others had %d turns in %v", n, took)
		}
	}
	// One load may be over before the other one is back in the queue.
	for range 1000 {
		if n, _ := load(50 * time.Millisecond); n > 0 {
			return
		}
	}
	t.Error("there was no turn between two tensors in 1000 loads")
}
