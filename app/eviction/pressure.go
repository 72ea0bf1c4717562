package eviction

import (
	"slices"
	"time"
)

// A Level says how short of memory the whole machine is. Its values are those of home.Pressure.
type Level int

// The levels, the lowest first.
const (
	LevelNormal   Level = iota
	LevelWarning        // programs should give up what they can make again
	LevelCritical       // the system stops programs, or makes all of them wait
)

// How a shortage of memory of the whole machine is met.
const (
	// pressureStep is the time between two steps. The system needs it to see what was freed.
	pressureStep = 10 * time.Second
	// pressureCalm ends a shortage. A level that comes back sooner belongs to the same one, so that
	// checkpoints do not get memory and lose it in turns.
	pressureCalm = 30 * time.Second
	// pressureUnused is how long a model was unused that is unloaded at a warning. A client that asks
	// several times a minute keeps its model.
	pressureUnused = time.Minute
	// pressureCurrent is the same for the current model, to which a person comes back.
	pressureCurrent = 10 * time.Minute
	// pressureRest is the time in which no model is unloaded twice.
	pressureRest = 5 * time.Minute
)

// A Shortage is the present shortage of memory, and which models were unloaded in this one and
// before. The zero value is none yet. It belongs to one goroutine.
type Shortage struct {
	level Level     // of the last look
	acted Level     // the highest level that a step met; LevelNormal outside a shortage
	next  time.Time // no step before, unless the level rises
	calm  time.Time // when the level became normal; zero while it is not

	unloaded map[string]time.Time // when models were unloaded for want of memory, by id
}

// A Change says what a look at the level means.
type Change int

const (
	Unchanged Change = iota
	Begins           // a shortage begins; a step is due
	Goes             // the shortage goes on; a step is due
	Ends             // the machine has memory again
)

// Look notes the level at a time.
func (s *Shortage) Look(level Level, now time.Time) Change {
	s.level = level
	if level == LevelNormal {
		return s.lookCalm(now)
	}
	s.calm = time.Time{}
	if level <= s.acted && now.Before(s.next) {
		return Unchanged
	}
	begins := s.acted == LevelNormal
	s.acted, s.next = max(s.acted, level), now.Add(pressureStep)
	if begins {
		return Begins
	}
	return Goes
}

// lookCalm is Look for a normal level.
func (s *Shortage) lookCalm(now time.Time) Change {
	if s.acted == LevelNormal {
		return Unchanged
	}
	if s.calm.IsZero() {
		s.calm = now
	}
	if now.Sub(s.calm) < pressureCalm {
		return Unchanged
	}
	s.acted, s.next, s.calm = LevelNormal, time.Time{}, time.Time{}
	return Ends
}

// Unload returns the models to unload in a step: at a warning one, and at a critical level all that no
// request holds. The current one comes last.
func (s *Shortage) Unload(of State) (ids []string) {
	var idle []Model
	for _, m := range of.Models {
		if m.Users == 0 && !m.Kept && s.mayUnload(of, m) {
			idle = append(idle, m)
		}
	}
	slices.SortStableFunc(idle, func(a, b Model) int {
		return of.claim(a, false).before(of.claim(b, false))
	})
	if s.level == LevelWarning && len(idle) > 1 {
		idle = idle[:1]
	}
	for _, m := range idle {
		ids = append(ids, m.ID)
	}
	return ids
}

// Unloaded notes that a model was unloaded for want of memory.
func (s *Shortage) Unloaded(id string, now time.Time) {
	if s.unloaded == nil {
		s.unloaded = map[string]time.Time{}
	}
	s.unloaded[id] = now
}

// mayUnload reports whether an idle model was unused long enough, and has not just come back.
func (s *Shortage) mayUnload(of State, m Model) bool {
	if was, ok := s.unloaded[m.ID]; ok && of.Now.Sub(was) < pressureRest {
		return false
	}
	unused := of.Now.Sub(m.Used)
	switch {
	case s.level == LevelCritical:
		return true
	case m.ID == of.Current:
		return unused >= pressureCurrent
	}
	return unused >= pressureUnused
}

// Shrink returns how many bytes of memory a step leaves to checkpoints: half of what they may take at a
// warning, and minimum at a critical level. The next requests still leave some, so that these reach the
// disk. ok is false if checkpoints take no more than that.
func (s *Shortage) Shrink(of State, minimum int64) (limit int64, ok bool) {
	was, keepers := of.CheckpointBudget(Need{})
	limit = minimum
	if s.level == LevelWarning {
		limit = max(was/2, minimum)
	}
	return limit, limit < was && keepers > 0
}
