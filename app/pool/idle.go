package pool

import (
	"context"
	"maps"
	"slices"
	"time"
)

// idleStep is how often it is looked whether the models in memory are used, and about
// as much as one look can add to the time that it was not: a machine that slept
// was not idle.
const idleStep = 10 * time.Second

// idleness is for how long a model was not used, counted look by look.
type idleness struct {
	uses int       // of the model, at the last look
	last time.Time // look
	sum  time.Duration
}

// idlenesses are those of the models in memory. One goroutine owns them.
type idlenesses map[*Model]*idleness

// of returns that of a model, which may be new.
func (i idlenesses) of(m *Model) *idleness {
	if i[m] == nil {
		i[m] = new(idleness)
	}
	return i[m]
}

// look returns for how long a model was idle, which has been used so many times
// and is in use now or not.
func (i *idleness) look(now time.Time, uses int, busy bool) time.Duration {
	step := min(now.Sub(i.last), 2*idleStep)
	if i.last.IsZero() || uses != i.uses || busy {
		step, i.sum = 0, 0
	}
	i.uses, i.last = uses, now
	i.sum += max(0, step)
	return i.sum
}

// UnloadIdle frees models once they were idle for as long as is set, until ctx ends.
func (p *Pool) UnloadIdle(ctx context.Context) {
	idle := idlenesses{}
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
func (p *Pool) unloadIfIdle(ctx context.Context, idle idlenesses, now time.Time) {
	limit := time.Duration(p.settings.Current().IdleUnloadMinutes) * time.Minute
	if err := p.lock(ctx); err != nil {
		return // there will be nothing to unload
	}
	defer p.mu.Unlock()
	maps.DeleteFunc(idle, func(m *Model, _ *idleness) bool { return !slices.Contains(p.resident, m) })
	var gone []*Model
	for _, m := range p.resident {
		was := idle.of(m).look(now, m.uses, m.users > 0)
		if limit == 0 || was < limit || m.own.KeepLoaded {
			continue
		}
		p.log.Info("an idle model leaves the memory", "model", m.row.ID, "minutes", int(was.Minutes()))
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
