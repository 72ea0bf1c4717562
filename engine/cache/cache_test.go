package cache_test

import (
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
)

func TestKV(t *testing.T) {
	enginetest.TestCache(t, enginetest.CacheKind{New: func() cache.Cache { return cache.NewKV(0) }})
}

func TestKVWindow(t *testing.T) {
	for _, window := range []int{1, 4, 16} {
		kind := enginetest.CacheKind{New: func() cache.Cache { return cache.NewKV(window) }, Window: window}
		t.Run(kind.String(), func(t *testing.T) { enginetest.TestCache(t, kind) })
	}
}

func TestRotating(t *testing.T) {
	for _, c := range []struct{ window, chunk int }{{2, 8}, {4, 1}, {8, 16}, {16, 40}, {300, 64}, {64, 0}} {
		slack := max(c.chunk, cache.MaxBlock)
		if c.chunk == 0 {
			slack = cache.MaxChunk
		}
		kind := enginetest.CacheKind{New: func() cache.Cache { return cache.NewRotating(c.window, c.chunk) }, Window: c.window, Most: slack}
		t.Run(kind.String(), func(t *testing.T) { enginetest.TestCache(t, kind) })
	}
}
