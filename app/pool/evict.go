package pool

import (
	"cmp"
	"slices"
	"time"
)

// agentContext is a context, in tokens, with which an agent can work. Where a person set no
// context:
//
//   - no idle model leaves the memory so that another gets a longer context, except for the choice;
//   - a context that must be cut and stays longer leaves 1/neighbourPart of the memory to another
//     model.
const (
	agentContext  = 32 << 10
	neighbourPart = 8
)

// A priority says how firmly a model is in memory.
type priority int

const (
	// priorityIdle: no request holds it.
	priorityIdle priority = iota
	// priorityUsed: requests hold it. Only the choice waits for them, and no new request gets it
	// then.
	priorityUsed
	// priorityKept: it stays though idle, see control.ModelSettings. It leaves only for the choice.
	priorityKept
	// priorityChosen: it is the choice.
	priorityChosen
)

// A claim is the memory of a model, and how firmly the model holds it.
type claim struct {
	bytes    int64 // its weights and a whole context
	priority priority
	value    float64 // see worth
}

// worth returns the worth of keeping an idle model, in seconds a second: the time of its next load,
// divided by the time since its last use. Loaded in two seconds and used a minute ago is worth less
// than loaded in ten and used three minutes ago.
func worth(load, idle time.Duration) float64 {
	const least = time.Second // below it, chance decides which model was used last
	return max(load, time.Millisecond).Seconds() / max(idle, least).Seconds()
}

// victims chooses the models to evict, by index, until what is left of room is enough. Models above
// the priority most are never chosen. The lowest priority leaves first, and of equal ones the least
// worth. A model whose leaving turns out not to be needed stays. ok is false if evicting all of
// them is not enough.
func victims(claims []claim, most priority, room int64,
	enough func(room int64) bool) (gone []int, ok bool) {
	var order []int
	for i, c := range claims {
		room -= c.bytes
		if c.priority <= most {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(claims[i].priority, claims[j].priority),
			cmp.Compare(claims[i].value, claims[j].value))
	})
	for _, i := range order {
		if enough(room) {
			break
		}
		gone = append(gone, i)
		room += claims[i].bytes
	}
	if !enough(room) {
		return nil, false
	}
	for n := len(gone) - 1; n >= 0; n-- {
		if bytes := claims[gone[n]].bytes; enough(room - bytes) {
			room -= bytes
			gone = slices.Delete(gone, n, n+1)
		}
	}
	return gone, true
}

// leftBeside returns what the models above the priority most leave of room, in bytes.
func leftBeside(claims []claim, most priority, room int64) int64 {
	for _, c := range claims {
		if c.priority > most {
			room -= c.bytes
		}
	}
	return room
}
