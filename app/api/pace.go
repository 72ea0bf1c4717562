package api

import (
	"sync/atomic"
	"time"
)

// A gap between two tokens does not count as the model's pace if it is longer than both limits.
// Then the machine slept, or another request was in the way.
const (
	maxGap   = 2 * time.Second
	farGap   = 8 // means
	firstGap = 10 * time.Second
)

// A pace is how fast tokens came of late. Its methods may be called by many goroutines. Two gaps
// that are added at once may count as one.
type pace struct {
	gap atomic.Int64 // nanoseconds between two tokens, a moving mean; 0 before the second
	far atomic.Bool  // the last gap did not count; two in a row are no sleep, and count
}

// paceMemory is about how many tokens the mean covers.
const paceMemory = 32

// add notes the gap between a token and the one before.
func (p *pace) add(gap time.Duration) {
	now, mean := int64(gap), p.gap.Load()
	switch {
	case mean == 0:
		now = min(now, int64(firstGap))
	case gap > maxGap && now > farGap*mean && p.far.CompareAndSwap(false, true):
		return
	default:
		now = mean + (now-mean)/paceMemory
	}
	p.far.Store(false)
	p.gap.Store(max(1, now))
}

// perSecond returns tokens per second, 0 before the second token.
func (p *pace) perSecond() float64 {
	if mean := p.gap.Load(); mean > 0 {
		return float64(time.Second) / float64(mean)
	}
	return 0
}
