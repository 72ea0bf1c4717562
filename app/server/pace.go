package server

import (
	"sync/atomic"
	"time"
)

// A longer gap between two tokens is no pace of the model's: the machine slept, or
// another request was in the way.
const maxGap = 2 * time.Second

// A pace is how fast tokens have come of late. Its methods may be called by many
// goroutines; what two of them add at once may count as one.
type pace struct {
	gap atomic.Int64 // nanoseconds between two tokens, a mean that forgets; 0 before the second
}

// paceMemory is of how many tokens about the mean is.
const paceMemory = 32

// add notes how long a token came after the one before it.
func (p *pace) add(gap time.Duration) {
	now, mean := int64(min(gap, maxGap)), p.gap.Load()
	if mean != 0 {
		now = mean + (now-mean)/paceMemory
	}
	p.gap.Store(max(1, now))
}

// perSecond returns tokens per second, 0 before the second token.
func (p *pace) perSecond() float64 {
	if mean := p.gap.Load(); mean > 0 {
		return float64(time.Second) / float64(mean)
	}
	return 0
}
