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
		p.Add(10 * time.Millisecond)
	}
	if got := p.perSecond(); got < 99 || got > 101 {
		t.Errorf("%.1f a second, want 100", got)
	}
	for _, asleep := range []time.Duration{time.Minute, time.Hour} {
		p.Add(asleep)
		p.Add(10 * time.Millisecond)
		if got := p.perSecond(); got < 99 || got > 101 {
			t.Errorf("%.1f a second after %v of sleep, want 100", got, asleep)
		}
	}
	// The pace of a slow model is slow, also if the model becomes slow later.
	for range 400 {
		p.Add(3 * time.Second)
	}
	if got := p.perSecond(); got < 0.3 || got > 0.35 {
		t.Errorf("%.2f a second, want a third", got)
	}
	// The first gap may already be far too long.
	var asleep pace
	asleep.Add(time.Hour)
	for range 400 {
		asleep.Add(10 * time.Millisecond)
	}
	if got := asleep.perSecond(); got < 95 || got > 101 {
		t.Errorf("%.1f a second after a first gap of an hour, want 100", got)
	}
}
