package api

import (
	"testing"
	"time"
)

// A pace follows the gaps between tokens, and leaves out one that is far too long.
func TestPaceLeavesOutLongGaps(t *testing.T) {
	var p pace
	if p.perSecond() != 0 {
		t.Error("there is a pace before there are tokens")
	}
	for range 100 {
		p.add(10 * time.Millisecond)
	}
	if got := p.perSecond(); got < 99 || got > 101 {
		t.Errorf("%.1f a second, want 100", got)
	}
	for _, asleep := range []time.Duration{time.Minute, time.Hour} {
		p.add(asleep)
		p.add(10 * time.Millisecond)
		if got := p.perSecond(); got < 99 || got > 101 {
			t.Errorf("%.1f a second after %v of sleep, want 100", got, asleep)
		}
	}
	// The pace of a slow model is slow, also if the model becomes slow later.
	for range 400 {
		p.add(3 * time.Second)
	}
	if got := p.perSecond(); got < 0.3 || got > 0.35 {
		t.Errorf("%.2f a second, want a third", got)
	}
	// The first gap may already be far too long.
	var asleep pace
	asleep.add(time.Hour)
	for range 400 {
		asleep.add(10 * time.Millisecond)
	}
	if got := asleep.perSecond(); got < 95 || got > 101 {
		t.Errorf("%.1f a second after a first gap of an hour, want 100", got)
	}
}
