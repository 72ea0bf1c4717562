package history

import (
	"maps"
	"slices"
	"time"

	"tandem/app/control"
)

// minLoadMS is what a run waits at least for a model that is not in memory.
const minLoadMS = 200

// A load is the time in which requests waited for a model.
type load struct {
	model    string
	from, to time.Time
	runs     int
	latest   int64 // id of the newest run
}

// swapped finds models that were loaded in turn: each is loaded again after another one.
func swapped(runs []control.Run) []control.Insight {
	list := loads(runs)
	inTurn := make([]bool, len(list))
	last := map[string]int{}
	for i, l := range list {
		if before, ok := last[l.model]; ok && before < i-1 {
			for k := before; k <= i; k++ {
				inTurn[k] = true
			}
		}
		last[l.model] = i
	}
	x := control.Insight{Kind: control.SlowSwapped}
	names := map[string]bool{}
	for i, l := range list {
		if inTurn[i] {
			x.Latest = max(x.Latest, l.latest)
			x.Runs += l.runs
			x.CostMS += float64(l.to.Sub(l.from)) / float64(time.Millisecond)
			names[l.model] = true
		}
	}
	if x.Runs == 0 {
		return nil
	}
	x.Models = slices.Sorted(maps.Keys(names))
	return []control.Insight{x}
}

// loads returns the loads that runs waited for, the earliest first. Runs that waited for one model at
// one time waited for one load.
func loads(runs []control.Run) []load {
	var all []load
	for _, r := range runs {
		if r.LoadMS >= minLoadMS {
			all = append(all, load{r.Model, r.StartedAt, loaded(&r), 1, r.ID})
		}
	}
	slices.SortStableFunc(all, func(a, b load) int { return a.from.Compare(b.from) })
	var merged []load
	last := map[string]int{}
	for _, l := range all {
		i, ok := last[l.model]
		if !ok || l.from.After(merged[i].to) {
			last[l.model] = len(merged)
			merged = append(merged, l)
			continue
		}
		m := &merged[i]
		m.to, m.runs, m.latest = later(m.to, l.to), m.runs+1, max(m.latest, l.latest)
	}
	return merged
}

// loaded returns when the model of a run was in memory.
func loaded(r *control.Run) time.Time { return r.StartedAt.Add(milliseconds(r.LoadMS)) }

// taken returns when the engine took a run. Its queue begins after the load.
func taken(r *control.Run) time.Time { return loaded(r).Add(milliseconds(r.QueueMS)) }
