package app

import (
	"context"
	"time"
)

// idleStep is how often it is looked whether the model in memory is used, and about
// as much as one look can add to the time that it was not: a machine that slept
// was not idle.
const idleStep = 10 * time.Second

// idleness is for how long a model was not used, counted look by look. One
// goroutine owns it.
type idleness struct {
	model *loaded
	uses  int       // of the model, at the last look
	last  time.Time // look
	sum   time.Duration
}

// look returns for how long a model was idle, which has been used so many times
// and is in use now or not.
func (i *idleness) look(now time.Time, m *loaded, uses int, busy bool) time.Duration {
	step := min(now.Sub(i.last), 2*idleStep)
	if m != i.model || uses != i.uses || busy {
		step, i.sum = 0, 0
	}
	i.model, i.uses, i.last = m, uses, now
	i.sum += max(0, step)
	return i.sum
}

// unloadIdle frees the model in memory once it was idle for as long as is set, until
// ctx ends.
func (a *App) unloadIdle(ctx context.Context) {
	var idle idleness
	tick := time.NewTicker(idleStep)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			a.unloadIfIdle(ctx, &idle, now)
		case <-ctx.Done():
			return
		}
	}
}

// unloadIfIdle looks once.
func (a *App) unloadIfIdle(ctx context.Context, idle *idleness, now time.Time) {
	limit := time.Duration(a.settings.current().IdleUnloadMinutes) * time.Minute
	if err := a.turn(ctx); err != nil {
		return // there will be nothing to unload
	}
	defer a.mu.Unlock()
	m := a.loaded
	if m == nil {
		return
	}
	was := idle.look(now, m, m.uses, m.users > 0)
	if limit == 0 || was < limit || m.own.KeepLoaded {
		return
	}
	a.log.Info("an idle model leaves the memory", "model", m.row.ID, "minutes", int(was.Minutes()))
	a.loaded = nil
	if err := a.change(m.close); err != nil {
		a.log.Error("unloading an idle model", "model", m.row.ID, "error", err)
	}
}
