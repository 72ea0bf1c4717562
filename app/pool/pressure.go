package pool

import (
	"context"
	"slices"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/plan"
)

const (
	// pressureLook is how often the pool looks whether the next step is due.
	pressureLook = time.Second
	// pressureWrites is how long a step waits until new checkpoints are on disk.
	pressureWrites = 3 * time.Second
)

// levels are those of plan, by the system's.
var levels = map[home.Pressure]plan.Level{home.PressureNormal: plan.LevelNormal,
	home.PressureWarning: plan.LevelWarning, home.PressureCritical: plan.LevelCritical}

// FollowPressure frees memory while the system is short of it, until ctx ends. Models that no request
// holds leave first, the least worth first, and then checkpoints leave the memory. A model that
// answers stays. At a warning this goes step by step; at a critical level all goes at once.
func (p *Pool) FollowPressure(ctx context.Context, source home.PressureSource) {
	changed := make(chan home.Pressure, 1)
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(func() {
		err := source(ctx, func(level home.Pressure) {
			select {
			case <-changed: // drops an older level, which was not read
			default:
			}
			changed <- level
		})
		if err != nil {
			p.log.Warn("shortages of memory are not seen", "error", err)
		}
	})
	tick := time.NewTicker(pressureLook)
	defer tick.Stop()
	var s plan.Shortage
	var level home.Pressure
	for {
		select {
		case level = <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		p.relieve(ctx, &s, level, time.Now())
	}
}

// relieve does what is due at a time.
func (p *Pool) relieve(ctx context.Context, s *plan.Shortage, level home.Pressure, now time.Time) {
	shown := control.PressureWarning
	if level == home.PressureCritical {
		shown = control.PressureCritical
	}
	switch s.Look(levels[level], now) {
	case plan.Unchanged:
		return
	case plan.Ends:
		p.log.Info("the machine has memory again")
		p.endShortage(ctx)
		return
	case plan.Begins:
		p.log.Info("the machine is short of memory", "level", shown)
		p.showPressure(func(show *control.Pressure) { *show = control.Pressure{Since: now} })
	}
	// The level is shown before anything is freed, since that may wait for a load.
	p.showPressure(func(show *control.Pressure) { show.Level = shown })
	if unloaded := p.unloadForPressure(ctx, s, now); !unloaded || level == home.PressureCritical {
		p.shrinkCheckpoints(ctx, s, p.waitForWrites)
	}
}

// showPressure changes what the state shows about a shortage. One goroutine calls it.
func (p *Pool) showPressure(change func(*control.Pressure)) {
	var show control.Pressure
	if was := p.look().pressure; was != nil {
		show = *was
	}
	show.Unloaded = slices.Clone(show.Unloaded)
	change(&show)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view.pressure = &show
}

// endShortage gives checkpoints their memory back. Models come back by requests alone.
func (p *Pool) endShortage(ctx context.Context) {
	p.mu.Lock()
	p.view.pressure = nil
	p.mu.Unlock()
	_ = p.change(ctx, func(o *owner) error { // else the engines end
		o.checkpointLimit = 0
		return nil
	})
}

// unloadForPressure unloads the models that are to go now, and reports whether there were any.
func (p *Pool) unloadForPressure(ctx context.Context, s *plan.Shortage, now time.Time) bool {
	var unloaded []*Model
	err := p.change(ctx, func(o *owner) (err error) {
		for { // until the plan holds: a request may take an idle model
			var busy *Model
			state := o.state()
			state.Now = now
			if unloaded, busy, err = o.unload(s.Unload(state)); busy == nil {
				return err
			}
		}
	})
	if err != nil && ctx.Err() == nil && !p.draining.Load() {
		p.log.Error("unloading models for want of memory", "error", err)
	}
	for _, m := range unloaded {
		id := m.row.ID
		p.log.Info("an idle model is unloaded, because the machine is short of memory", "model", id)
		s.Unloaded(id, now)
		p.showPressure(func(show *control.Pressure) {
			if !slices.Contains(show.Unloaded, id) { // it may be unloaded again
				show.Unloaded = append(show.Unloaded, id)
			}
			show.FreedBytes += m.needs.Weights
		})
	}
	return len(unloaded) > 0
}

// shrinkCheckpoints takes checkpoints out of memory. It calls wait before the change, because loads
// would wait for that too.
func (p *Pool) shrinkCheckpoints(ctx context.Context, s *plan.Shortage, wait func(context.Context)) {
	var freed, limit int64
	shrink := func(o *owner) bool {
		a, ok := s.Shrink(o.state(), p.least)
		limit = a.Bytes
		return ok
	}
	due := false
	look := func(o *owner) error { due = shrink(o); return nil }
	if err := p.change(ctx, look); err != nil || !due {
		return // nothing to free, or the engines end
	}
	wait(ctx)
	err := p.change(ctx, func(o *owner) error {
		if due = shrink(o); !due {
			return nil
		}
		o.checkpointLimit = limit
		for i, share := range o.state().Shares(plan.Need{}) {
			if m := o.models[i]; m.keepsCheckpoints() {
				freed += m.engine.FreeCheckpoints(share.Checkpoints)
			}
		}
		return nil
	})
	if err != nil || !due {
		return
	}
	p.log.Info("checkpoints leave the memory, because the machine is short of it", "bytes", freed,
		"limit", limit)
	p.showPressure(func(show *control.Pressure) { show.CheckpointBytes += freed })
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
