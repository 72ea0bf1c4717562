package pool

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/home"
)

// How the pool meets a shortage of memory of the whole machine.
const (
	// pressureLook is how often the pool looks whether the next step is due.
	pressureLook = time.Second
	// pressureStep is the time between two steps. The system needs it to see what was freed.
	pressureStep = 10 * time.Second
	// pressureCalm ends a shortage. A level that comes back sooner belongs to the same one, so that
	// checkpoints do not get memory and lose it in turns.
	pressureCalm = 30 * time.Second
	// pressureIdle is how long a model was unused that leaves at a warning. A client that asks several
	// times a minute keeps its model.
	pressureIdle = time.Minute
	// pressureChoice is the same for the choice, to which a person comes back.
	pressureChoice = 10 * time.Minute
	// pressureRest is the time in which no model leaves twice. So a model that a request brought back
	// does not come and go in turns.
	pressureRest = 5 * time.Minute
	// pressureWrites is how long a step waits until new checkpoints are on disk.
	pressureWrites = 3 * time.Second
)

// A shortage is what the pool knows of the present shortage of memory, and of models that left in
// this one and before. One goroutine owns it.
type shortage struct {
	level home.Pressure // what the system says
	acted home.Pressure // the highest level that a step met; normal if there is no shortage
	next  time.Time     // no step before, unless the level rises
	calm  time.Time     // when the level became normal; zero while it is not

	left map[string]time.Time // when models left for want of memory, by id
}

// FollowPressure frees memory while the system is short of it, until ctx ends. Models that no request
// holds leave first, the least worth first, and then checkpoints leave the memory. A model that
// answers stays. At a warning this goes step by step; at a critical level all goes at once.
func (p *Pool) FollowPressure(ctx context.Context, source home.PressureSource) {
	levels := make(chan home.Pressure, 1)
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(func() {
		err := source(ctx, func(level home.Pressure) {
			select {
			case <-levels: // drops an older level, which was not read
			default:
			}
			levels <- level
		})
		if err != nil {
			p.log.Warn("shortages of memory are not seen", "error", err)
		}
	})
	tick := time.NewTicker(pressureLook)
	defer tick.Stop()
	s := shortage{left: map[string]time.Time{}}
	for {
		select {
		case s.level = <-levels:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		p.relieve(ctx, &s, time.Now())
	}
}

// relieve does what is due at a time.
func (p *Pool) relieve(ctx context.Context, s *shortage, now time.Time) {
	if s.level == home.PressureNormal {
		if s.ends(now) {
			p.log.Info("the machine has memory again")
			p.endShortage()
		}
		return
	}
	s.calm = time.Time{}
	if s.level <= s.acted && now.Before(s.next) {
		return
	}
	p.beginShortage(s.level, s.acted == home.PressureNormal, now)
	s.acted, s.next = max(s.acted, s.level), now.Add(pressureStep)
	if left := p.unloadForPressure(ctx, s, now); !left || s.level == home.PressureCritical {
		p.shrinkCheckpoints(ctx, s.level, p.waitForWrites)
	}
}

// ends reports whether a shortage ends now. The level is normal.
func (s *shortage) ends(now time.Time) bool {
	if s.acted == home.PressureNormal {
		return false
	}
	if s.calm.IsZero() {
		s.calm = now
	}
	if now.Sub(s.calm) < pressureCalm {
		return false
	}
	s.acted, s.next, s.calm = home.PressureNormal, time.Time{}, time.Time{}
	return true
}

// beginShortage notes the level for the state, before anything is freed, since that may wait for a
// load.
func (p *Pool) beginShortage(level home.Pressure, first bool, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first || p.pressure == nil {
		p.pressure = &control.Pressure{Since: now}
	}
	p.pressure.Level = control.PressureWarning
	if level == home.PressureCritical {
		p.pressure.Level = control.PressureCritical
	}
	if first {
		p.log.Info("the machine is short of memory", "level", p.pressure.Level)
	}
}

// endShortage gives checkpoints their memory back. Models come back by requests alone.
func (p *Pool) endShortage() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pressure, p.checkpointLimit = nil, 0
	if p.changing == nil { // otherwise its end divides
		p.divideMemory()
	}
}

// unloadForPressure unloads the models that leave now, and reports whether there were any.
func (p *Pool) unloadForPressure(ctx context.Context, s *shortage, now time.Time) bool {
	if err := p.lock(ctx); err != nil {
		return false // there will be nothing to unload
	}
	defer p.mu.Unlock()
	gone := p.leavers(s, now)
	if len(gone) == 0 {
		return false
	}
	for _, m := range gone {
		p.log.Info("an idle model is unloaded, because the machine is short of memory",
			"model", m.row.ID)
		s.left[m.row.ID] = now
		if !slices.Contains(p.pressure.Unloaded, m.row.ID) { // it may leave again
			p.pressure.Unloaded = append(p.pressure.Unloaded, m.row.ID)
		}
		p.pressure.FreedBytes += m.needs.weights
	}
	p.remove(gone)
	if err := p.change(func() error { return closeAll(gone) }); err != nil {
		p.log.Error("unloading models for want of memory", "error", err)
	}
	return true
}

// leavers returns the models that leave now: at a warning one, and at a critical level all that no
// request holds. The choice comes last. The caller holds p.mu.
func (p *Pool) leavers(s *shortage, now time.Time) []*Model {
	var list []*Model
	for _, m := range p.resident {
		if m.users == 0 && !m.own.KeepLoaded && p.mayLeave(s, m, now) {
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b *Model) int {
		x, y := p.claim(a, arrival{}), p.claim(b, arrival{})
		return cmp.Or(cmp.Compare(x.priority, y.priority), cmp.Compare(x.value, y.value))
	})
	if s.level == home.PressureWarning && len(list) > 1 {
		return list[:1]
	}
	return list
}

// mayLeave reports whether an idle model was unused long enough, and has not just come back. The
// caller holds p.mu.
func (p *Pool) mayLeave(s *shortage, m *Model, now time.Time) bool {
	if left, ok := s.left[m.row.ID]; ok && now.Sub(left) < pressureRest {
		return false
	}
	if s.level == home.PressureCritical {
		return true
	}
	least := pressureIdle
	if m.row.ID == p.choice {
		least = pressureChoice
	}
	return now.Sub(m.used) >= least
}

// shrinkCheckpoints takes checkpoints out of memory: half of what they may take at a warning, and all
// but the least budget at a critical level. The next requests still leave some, so that these reach
// the disk. It calls wait before the change, because loads would wait for that too.
func (p *Pool) shrinkCheckpoints(ctx context.Context, level home.Pressure,
	wait func(context.Context)) {
	if err := p.lock(ctx); err != nil {
		return // the engines will end
	}
	_, keepers := p.smallerBudget(level)
	p.mu.Unlock()
	if len(keepers) == 0 {
		return
	}
	wait(ctx)
	if err := p.lock(ctx); err != nil {
		return
	}
	defer p.mu.Unlock()
	limit, keepers := p.smallerBudget(level)
	if len(keepers) == 0 {
		return
	}
	p.checkpointLimit = limit
	var freed int64
	_ = p.change(func() error {
		for _, m := range keepers {
			freed += m.engine.FreeCheckpoints(limit / int64(len(keepers)))
		}
		return nil
	})
	p.log.Info("checkpoints leave the memory, because the machine is short of it", "bytes", freed,
		"limit", limit)
	if p.pressure != nil {
		p.pressure.CheckpointBytes += freed
	}
}

// smallerBudget returns what checkpoints may take at a level, and the models that share it. There are
// none if that is not less than now. The caller holds p.mu.
func (p *Pool) smallerBudget(level home.Pressure) (limit int64, keepers []*Model) {
	was, keepers := p.checkpointBudget(demand{})
	limit = max(was/2, p.least)
	if level == home.PressureCritical {
		limit = p.least
	}
	if limit >= was {
		return was, nil
	}
	return limit, keepers
}

// waitForWrites waits for a while until checkpoints are on disk, so that none is lost with its place
// in memory.
func (p *Pool) waitForWrites(ctx context.Context) {
	limit := time.After(pressureWrites)
	for p.WritesCheckpoints() {
		select {
		case <-time.After(memoryPoll):
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}
