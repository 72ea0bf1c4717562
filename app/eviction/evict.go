package eviction

import (
	"cmp"
	"slices"
	"time"
)

// A priority orders eviction; the lowest goes first.
type priority int

const (
	// priorityIdle: no request holds the model.
	priorityIdle priority = iota
	// priorityUsed: requests hold it. Only the current model waits for them.
	priorityUsed
	// priorityKept: a person set it to stay. It is evicted for the current model only.
	priorityKept
	// priorityCurrent: it is the current model.
	priorityCurrent
)

// A claim is the memory of a model, and how firmly the model holds it.
type claim struct {
	bytes    int64 // its weights and a whole context
	priority priority
	value    float64 // see worth
}

// claim returns the claim of a model. comes says that the current model is being loaded, so none in
// memory is it.
func (s State) claim(m Model, comes bool) claim {
	c := claim{bytes: m.Need.Bytes(), value: worth(m.LoadTime, s.Now.Sub(m.Used))}
	switch {
	case m.ID == s.Current && !comes:
		c.priority = priorityCurrent
	case m.Kept:
		c.priority = priorityKept
	case m.Users > 0:
		c.priority = priorityUsed
	}
	return c
}

// before orders claims by priority, and equal ones by worth.
func (c claim) before(d claim) int {
	return cmp.Or(cmp.Compare(c.priority, d.priority), cmp.Compare(c.value, d.value))
}

// worth returns the worth of keeping an idle model, in seconds per second: the time of its next load,
// divided by the time since its last use. A model loaded in two seconds and used a minute ago is worth
// less than one loaded in ten and used three minutes ago.
func worth(load, unused time.Duration) float64 {
	const minUnused = time.Second // below it, chance decides which model was used last
	return max(load, time.Millisecond).Seconds() / max(unused, minUnused).Seconds()
}

// victims chooses the models to evict, by index, until what is left of room is enough. Models above
// the priority highest are never chosen. A model that turns out not to be needed stays. ok is false if
// evicting all of them is not enough.
func victims(claims []claim, highest priority, room int64,
	enough func(room int64) bool) (evicted []int, ok bool) {
	var order []int
	for i, c := range claims {
		room -= c.bytes
		if c.priority <= highest {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return claims[i].before(claims[j]) })
	for _, i := range order {
		if enough(room) {
			break
		}
		evicted = append(evicted, i)
		room += claims[i].bytes
	}
	if !enough(room) {
		return nil, false
	}
	for n := len(evicted) - 1; n >= 0; n-- {
		if bytes := claims[evicted[n]].bytes; enough(room - bytes) {
			room -= bytes
			evicted = slices.Delete(evicted, n, n+1)
		}
	}
	return evicted, true
}

// leftBeside returns what the models above the priority highest leave of room, in bytes.
func leftBeside(claims []claim, highest priority, room int64) int64 {
	for _, c := range claims {
		if c.priority > highest {
			room -= c.bytes
		}
	}
	return room
}
