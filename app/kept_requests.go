package app

import (
	"context"
	"time"

	"tandem/app/control"
)

const (
	sweepEvery = time.Hour
	cutOffKept = 24 * time.Hour // that a run stays which can still be completed, where none are kept
)

// keptSince returns how old the texts of runs may be: of those that ended, and of
// those that were interrupted.
func keptSince(k control.KeepRequests, now time.Time) (ended, cutOff time.Time) {
	switch k {
	case control.KeepWeek:
		ended = now.AddDate(0, 0, -7)
	case control.KeepMonth:
		ended = now.AddDate(0, 0, -30)
	default:
		return now, now.Add(-cutOffKept)
	}
	return ended, ended
}

// sweepTexts removes the texts of runs that are older than the settings have
// them, and responses whose time is over, until ctx ends.
func (a *App) sweepTexts(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		a.sweepOnce(ctx)
		a.sweepResponses(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (a *App) sweepOnce(ctx context.Context) {
	ended, cutOff := keptSince(a.settings.Current().KeepRequests, time.Now())
	n, err := a.db.SweepRunTexts(ctx, ended, cutOff)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.log.Warn("sweeping the texts of runs", "error", err)
	case n > 0:
		a.log.Info("texts of runs were removed for their age", "runs", n)
	}
}
