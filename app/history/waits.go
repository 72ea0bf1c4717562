package history

import (
	"maps"
	"slices"
	"time"

	"tandem/app/control"
)

// minWaitMS is how long a run waits at least in a queue. Every request waits a little until the
// engine takes it.
const minWaitMS = 100

// queued finds clients whose requests waited for those of others.
func queued(runs []control.Run, now time.Time) []control.Insight {
	found := map[string]*control.Insight{}
	for i := range runs {
		r := &runs[i]
		if r.QueueMS < minWaitMS {
			continue
		}
		note(found, r.Client, control.Insight{Kind: control.SlowQueued, Latest: r.ID,
			Client: r.Client}).CostMS += r.QueueMS
	}
	behind := waitedFor(runs, now)
	for client, x := range found {
		longest := 0.0
		for _, other := range slices.Sorted(maps.Keys(behind[client])) {
			if s := behind[client][other]; s > longest {
				x.Behind, longest = other, s
			}
		}
	}
	return listed(found, 1)
}

// A waitEvent is a moment at which a run begins or ends to wait, or to be answered.
type waitEvent struct {
	at     time.Time
	client string
	waits  bool
	change int // 1 begins, -1 ends
}

// waitedFor returns by client how many seconds its runs waited while runs of each client were
// answered by the same model. It goes through time once, however many runs wait at a time.
func waitedFor(runs []control.Run, now time.Time) map[string]map[string]float64 {
	behind := map[string]map[string]float64{}
	for _, events := range waitEvents(runs, now) {
		slices.SortFunc(events, func(a, b waitEvent) int { return a.at.Compare(b.at) })
		waiting, answered := map[string]int{}, map[string]int{}
		for i, t := range events {
			if i > 0 {
				addWaits(behind, waiting, answered, t.at.Sub(events[i-1].at).Seconds())
			}
			of := answered
			if t.waits {
				of = waiting
			}
			if of[t.client] += t.change; of[t.client] == 0 {
				delete(of, t.client)
			}
		}
	}
	return behind
}

// addWaits adds a time in which the same runs waited and were answered.
func addWaits(behind map[string]map[string]float64, waiting, answered map[string]int, seconds float64) {
	if seconds <= 0 {
		return
	}
	for client, n := range waiting {
		if behind[client] == nil {
			behind[client] = map[string]float64{}
		}
		for other, m := range answered {
			behind[client][other] += seconds * float64(n) * float64(m)
		}
	}
}

// waitEvents returns the events at each model that runs waited for. A run in flight is answered until
// now. Its model is not known yet, so it counts for each.
func waitEvents(runs []control.Run, now time.Time) map[string][]waitEvent {
	events := map[string][]waitEvent{}
	for i := range runs {
		if r := &runs[i]; r.QueueMS >= minWaitMS {
			events[r.Model] = append(events[r.Model], waitEvent{loaded(r), r.Client, true, 1},
				waitEvent{taken(r), r.Client, true, -1})
		}
	}
	for i := range runs {
		r := &runs[i]
		inFlight := r.EndedAt.IsZero()
		from, to := taken(r), r.EndedAt
		if inFlight {
			to = now
		}
		if !to.After(from) {
			continue
		}
		for model := range events {
			if model == r.Model || inFlight && r.Model == "" {
				events[model] = append(events[model], waitEvent{from, r.Client, false, 1},
					waitEvent{to, r.Client, false, -1})
			}
		}
	}
	return events
}
