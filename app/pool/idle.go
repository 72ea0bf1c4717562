package pool

import (
	"context"
	"maps"
	"slices"
	"time"
)

// idleStep is how often the pool looks whether models are used. One look adds at most two steps to
// a model's idle time, so that sleep of the machine does not count.
const idleStep = 10 * time.Second

// An idleTime is how long a model was not used, counted look by look.
type idleTime struct {
	uses int       // of the model, at the last look
	last time.Time // look
	sum  time.Duration
}

// idleTimes are the idle times of the models in memory. One goroutine owns them.
type idleTimes map[*Model]*idleTime

// of returns the idle time of a model, which may be new.
func (i idleTimes) of(m *Model) *idleTime {
	if i[m] == nil {
		i[m] = new(idleTime)
	}
	return i[m]
}

// observe returns how long a model was idle. uses counts its requests so far; busy says whether a
// request holds it now.
func (i *idleTime) observe(now time.Time, uses int, busy bool) time.Duration {
	step := min(now.Sub(i.last), 2*idleStep)
	if i.last.IsZero() || uses != i.uses || busy {
		step, i.sum = 0, 0
	}
	i.uses, i.last = uses, now
	i.sum += max(0, step)
	return i.sum
}

// UnloadIdle unloads models that were idle for as long as the settings say, until ctx ends.
func (p *Pool) UnloadIdle(ctx context.Context) {
	idle := idleTimes{}
	tick := time.NewTicker(idleStep)
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
func (p *Pool) unloadIfIdle(ctx context.Context, idle idleTimes, now time.Time) {
	limit := time.Duration(p.settings.Current().IdleUnloadMinutes) * time.Minute
	if err := p.lock(ctx); err != nil {
		return // there will be nothing to unload
	}
	defer p.mu.Unlock()
	maps.DeleteFunc(idle, func(m *Model, _ *idleTime) bool { return !slices.Contains(p.resident, m) })
	var gone []*Model
	for _, m := range p.resident {
		was := idle.of(m).observe(now, m.uses, m.users > 0)
		if limit == 0 || was < limit || m.own.KeepLoaded {
			continue
		}
		p.log.Info("an idle model leaves the memory", "model", m.row.ID,
			"minutes", int(was.Minutes()))
		gone = append(gone, m)
	}
	if gone == nil {
		return
	}
	p.remove(gone)
	if err := p.change(func() error { return closeAll(gone) }); err != nil {
		p.log.Error("unloading idle models", "error", err)
	}
}
