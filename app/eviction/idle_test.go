package eviction

import (
	"testing"
	"time"
)

// Idle time is counted from look to look in small steps, so a clock that jumps adds little.
func TestClockJumpsAreNoIdleTime(t *testing.T) {
	one, two := new(idleTime), new(idleTime)
	now := now
	for n, c := range []struct {
		after time.Duration
		model *idleTime
		use   int64
		busy  bool
		want  time.Duration
	}{
		{0, one, 1, false, 0},
		{10 * time.Second, one, 1, false, 10 * time.Second},
		{10 * time.Second, one, 1, false, 20 * time.Second},
		{time.Hour, one, 1, false, 40 * time.Second}, // the machine slept
		{-time.Hour, one, 1, false, 40 * time.Second},
		{10 * time.Second, one, 2, false, 0}, // a request used it in between
		{10 * time.Second, one, 2, false, 10 * time.Second},
		{10 * time.Second, one, 2, true, 0},
		{10 * time.Second, one, 2, false, 10 * time.Second},
		{10 * time.Second, two, 2, false, 0}, // another model
		{10 * time.Second, two, 2, false, 10 * time.Second},
		// the last look was longer ago, but not as long as a sleep
		{10 * time.Second, one, 2, false, 30 * time.Second},
	} {
		now = now.Add(c.after)
		if got := c.model.observe(now, c.use, c.busy); got != c.want {
			t.Errorf("look %d: idle for %v, want %v", n, got, c.want)
		}
	}
}

// Models that were idle long enough are unloaded, except those that a person set to stay. What has
// left the memory is forgotten.
func TestIdleModelsAreUnloaded(t *testing.T) {
	idle := IdleTimes{}
	s := State{Now: now, Models: []Model{holding("a"), holding("kept", kept), holding("used", used)}}
	for range 6 {
		if got := describe(idle.Unload(s, time.Minute)); got != "" {
			t.Fatalf("%v: %q is unloaded", s.Now, got)
		}
		s.Now = s.Now.Add(IdleStep)
	}
	if got := describe(idle.Unload(s, 0)); got != "" {
		t.Errorf("without a limit %q is unloaded", got)
	}
	if got := describe(idle.Unload(s, time.Minute)); got != "-a" {
		t.Errorf("%q is unloaded, want -a", got)
	}
	s.Models = s.Models[1:]
	if idle.Unload(s, time.Minute); len(idle) != 2 {
		t.Errorf("idle times are kept for %d models, want 2", len(idle))
	}
}
