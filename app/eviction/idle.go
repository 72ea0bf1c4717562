package eviction

import (
	"maps"
	"time"
)

// IdleStep is how often idle times are observed. One look adds at most two steps to a model's idle
// time, so that sleep of the machine does not count.
const IdleStep = 10 * time.Second

// IdleTimes are how long the models in memory were not used, counted look by look, by id. They belong
// to one goroutine.
type IdleTimes map[string]*idleTime

// An idleTime is that of one model.
type idleTime struct {
	use  int64     // number of the model's last use
	last time.Time // look
	sum  time.Duration
}

// Unload returns the models to unload now: those that were idle for limit, except for those that a
// person set to stay. A limit of 0 unloads none.
func (t IdleTimes) Unload(s State, limit time.Duration) (ids []string) {
	maps.DeleteFunc(t, func(id string, _ *idleTime) bool { return s.model(id) == nil })
	for _, m := range s.Models {
		if t[m.ID] == nil {
			t[m.ID] = new(idleTime)
		}
		idle := t[m.ID].observe(s.Now, m.LastUse, m.Users > 0)
		if limit > 0 && idle >= limit && !m.Kept {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// observe returns how long a model was idle. use is the number of its last use; busy says whether a
// request holds it now.
func (t *idleTime) observe(now time.Time, use int64, busy bool) time.Duration {
	step := min(now.Sub(t.last), 2*IdleStep)
	if t.last.IsZero() || use != t.use || busy {
		step, t.sum = 0, 0
	}
	t.use, t.last = use, now
	t.sum += max(0, step)
	return t.sum
}
