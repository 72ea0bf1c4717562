package api

import (
	"sync/atomic"
	"time"
)

// A gap between two tokens that is longer, and far longer than the mean, is no pace
// of the model's: the machine slept, or another request was in the way.
const (
	maxGap   = 2 * time.Second
	farGap   = 8 // means
	firstGap = 10 * time.Second
)

// A pace is how fast tokens have come of late. Its methods may be called by many
// goroutines; what two of them add at once may count as one.
type pace struct {
	gap atomic.Int64 // nanoseconds between two tokens, a mean that forgets; 0 before the second
	far atomic.Bool  // the last gap did not count; two in a row are no sleep
}

// paceMemory is of how many tokens about the mean is.
const paceMemory = 32

// Add notes how long a token came after the one before it.
func (p *pace) Add(gap time.Duration) {
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
