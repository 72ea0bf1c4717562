package pool

import (
	"context"
	"time"

	"tandem/app/plan"
)

// UnloadIdle unloads models that were idle for as long as the settings say, until ctx ends.
func (p *Pool) UnloadIdle(ctx context.Context) {
	idle := plan.IdleTimes{}
	tick := time.NewTicker(plan.IdleStep)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			p.unloadIfIdle(ctx, idle, now)
		case <-ctx.Done():
			return
		}
	}
}

// unloadIfIdle looks once.
func (p *Pool) unloadIfIdle(ctx context.Context, idle plan.IdleTimes, now time.Time) {
	limit := time.Duration(p.settings.Current().IdleUnloadMinutes) * time.Minute
	err := p.change(ctx, func(o *owner) error {
		s := o.state()
		s.Now = now
		unloaded, _, err := o.unload(idle.Unload(s, limit)) // none if one is used again
		for _, m := range unloaded {
			p.log.Info("an idle model leaves the memory", "model", m.row.ID,
				"minutes", int(limit.Minutes()))
		}
		return err
	})
	if err != nil && ctx.Err() == nil && !p.draining.Load() {
		p.log.Error("unloading idle models", "error", err)
	}
}
