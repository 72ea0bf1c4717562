package pool

import (
	"context"
	"slices"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/eviction"
	"tandem/app/home"
)

const (
	// pressureLook is how often the pool looks whether the next step is due.
	pressureLook = time.Second
	// pressureWrites is how long a step waits until new checkpoints are on disk.
	pressureWrites = 3 * time.Second
)

// A relief frees memory while the machine is short of it. One goroutine owns it.
type relief struct {
	*Pool
	shortage eviction.Shortage
}

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
	r := &relief{Pool: p}
	var level home.Pressure
	for {
		select {
		case level = <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		r.relieve(ctx, level, time.Now())
	}
}

// relieve does what is due at a time.
func (r *relief) relieve(ctx context.Context, level home.Pressure, now time.Time) {
	shown := control.PressureWarning
	if level == home.PressureCritical {
		shown = control.PressureCritical
	}
	switch r.shortage.Look(eviction.Level(level), now) {
	case eviction.Unchanged:
		return
	case eviction.Ends:
		r.log.Info("the machine has memory again")
		r.endShortage(ctx)
		return
	case eviction.Begins:
		r.log.Info("the machine is short of memory", "level", shown)
		r.showPressure(func(show *control.Pressure) { *show = control.Pressure{Since: now} })
	}
	// The level is shown before anything is freed, since that may wait for a load.
	r.showPressure(func(show *control.Pressure) { show.Level = shown })
	if unloaded := r.unload(ctx, now); !unloaded || level == home.PressureCritical {
		r.shrinkCheckpoints(ctx, r.waitForWrites)
	}
}

// showPressure changes what the state shows about a shortage. One goroutine calls it.
func (r *relief) showPressure(change func(*control.Pressure)) {
	var show control.Pressure
	if was := r.pressure.Load(); was != nil {
		show = *was
	}
	show.Unloaded = slices.Clone(show.Unloaded)
	change(&show)
	r.pressure.Store(&show)
}

// endShortage gives checkpoints their memory back. Models come back by requests alone.
func (r *relief) endShortage(ctx context.Context) {
	r.pressure.Store(nil)
	_ = r.change(ctx, func(o *owner) error { // else the engines end
		o.checkpointLimit = 0
		return nil
	})
}

// unload unloads the models that are to go now, and reports whether there were any.
func (r *relief) unload(ctx context.Context, now time.Time) bool {
	var unloaded []*Model
	err := r.change(ctx, func(o *owner) error {
		unloaded, _ = o.closeAsPlanned(false, func(s eviction.State) ([]string, error) {
			s.Now = now
			return r.shortage.Unload(s), nil
		})
		r.noteUnloaded(unloaded, now) // before the state shows that they are gone
		o.remove(unloaded)
		return closeAll(unloaded)
	})
	if err != nil && ctx.Err() == nil && !r.draining.Load() {
		r.log.Error("unloading models for want of memory", "error", err)
	}
	return len(unloaded) > 0
}

// noteUnloaded shows which models are unloaded for want of memory.
func (r *relief) noteUnloaded(unloaded []*Model, now time.Time) {
	for _, m := range unloaded {
		id := m.row.ID
		r.log.Info("an idle model is unloaded, because the machine is short of memory", "model", id)
		r.shortage.Unloaded(id, now)
		r.showPressure(func(show *control.Pressure) {
			if !slices.Contains(show.Unloaded, id) { // it may be unloaded again
				show.Unloaded = append(show.Unloaded, id)
			}
			show.FreedBytes += m.needs.Weights
		})
	}
}

// shrinkCheckpoints takes checkpoints out of memory. It calls wait before the change, because loads
// would wait for that too.
func (r *relief) shrinkCheckpoints(ctx context.Context, wait func(context.Context)) {
	due := false
	_ = r.change(ctx, func(o *owner) error { // else the engines end
		_, due = r.shortage.Shrink(o.state(), r.minCheckpoints)
		return nil
	})
	if !due {
		return
	}
	wait(ctx)
	due = false // a load may have taken what they had
	var freed, limit int64
	_ = r.change(ctx, func(o *owner) error {
		if limit, due = r.shortage.Shrink(o.state(), r.minCheckpoints); !due {
			return nil
		}
		o.checkpointLimit = limit
		for i, share := range o.state().Shares(eviction.Need{}) {
			if m := o.models[i]; m.keepsCheckpoints() {
				freed += m.engine.FreeCheckpoints(share.Checkpoints)
			}
		}
		return nil
	})
	if !due {
		return
	}
	r.log.Info("checkpoints leave the memory, because the machine is short of it", "bytes", freed,
		"limit", limit)
	r.showPressure(func(show *control.Pressure) { show.CheckpointBytes += freed })
}

// waitForWrites waits for a while until checkpoints are on disk, so that none is lost with its place
// in memory.
func (r *relief) waitForWrites(ctx context.Context) {
	limit := time.After(pressureWrites)
	for r.WritesCheckpoints() {
		select {
		case <-time.After(memoryPoll):
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}
