package eviction

import (
	"testing"
	"time"
)

// Levels that come and go are one shortage. It ends once the level was normal for a while.
func TestLevelsThatComeAndGoAreOneShortage(t *testing.T) {
	var s Shortage
	now := now
	for n, c := range []struct {
		after time.Duration
		level Level
		want  Change
	}{
		{0, LevelNormal, Unchanged},
		{0, LevelWarning, Begins},
		{time.Second, LevelWarning, Unchanged}, // no step is due
		{time.Second, LevelCritical, Goes},     // the level rises
		{pressureStep - 1, LevelWarning, Unchanged},
		{1, LevelWarning, Goes},
		{5 * time.Second, LevelNormal, Unchanged},
		{time.Minute, LevelWarning, Goes}, // it was never seen to be calm for long enough
		{time.Second, LevelNormal, Unchanged},
		{pressureCalm - time.Second, LevelNormal, Unchanged},
		{time.Second, LevelNormal, Ends},
		{time.Second, LevelNormal, Unchanged},
		{0, LevelCritical, Begins},
	} {
		now = now.Add(c.after)
		if got := s.Look(c.level, now); got != c.want {
			t.Errorf("look %d: %d, want %d", n, got, c.want)
		}
	}
}

// At a warning one idle model is unloaded, the current one last; at a critical level all idle ones.
// None is unloaded twice within some minutes.
func TestShortageUnloadsIdleModels(t *testing.T) {
	ago := unused(5 * time.Minute)
	all := []Model{holding("current", unused(time.Hour)), holding("b", ago), holding("c", ago, loadTime(time.Hour)),
		holding("kept", ago, kept), holding("used", ago, used), holding("fresh", unused(time.Second))}
	for _, c := range []struct {
		name   string
		level  Level
		models []Model
		came   string // a model that came back after it was unloaded a minute ago
		want   string
	}{
		{"the least worth", LevelWarning, all, "", "-b"},
		{"the next", LevelWarning, all, "b", "-c"},
		{"the current model last", LevelWarning, []Model{all[0], all[5]}, "", "-current"},
		{"a person may come back to it", LevelWarning, []Model{holding("current", ago)}, "", ""},
		{"what was just used stays", LevelWarning, all[5:], "", ""},
		{"all that are idle", LevelCritical, all, "", "-b -fresh -c -current"},
		{"but one that has just come back", LevelCritical, all, "fresh", "-b -c -current"},
	} {
		s := Shortage{level: c.level}
		if c.came != "" {
			s.Unloaded(c.came, now.Add(-time.Minute))
		}
		if got := describe(s.Unload(State{Now: now, Models: c.models, Current: "current"})); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Checkpoints keep half of their memory at a warning, and the least budget at a critical level.
func TestShortageShrinksCheckpoints(t *testing.T) {
	for _, c := range []struct {
		level  Level
		budget int64
		want   int64
		ok     bool
	}{
		{LevelWarning, 100, 50, true},
		{LevelWarning, 12, 10, true},
		{LevelWarning, 10, 10, false},
		{LevelCritical, 100, 10, true},
		{LevelCritical, 10, 10, false},
	} {
		s := Shortage{level: c.level}
		of := State{Limits: Limits{Memory: 64 * gib, Checkpoints: c.budget}, Models: []Model{{KeepsCheckpoints: true}}}
		if limit, ok := s.Shrink(of, 10); limit != c.want || ok != c.ok {
			t.Errorf("level %d, %d bytes: %d, %t; want %d, %t", c.level, c.budget, limit, ok, c.want, c.ok)
		}
		of.Models = nil
		if _, ok := s.Shrink(of, 10); ok {
			t.Errorf("level %d: checkpoints of no model shrink", c.level)
		}
	}
}
