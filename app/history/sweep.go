package history

import (
	"context"
	"time"

	"tandem/app/control"
)

const (
	sweepEvery = time.Hour
	cutOffKept = 24 * time.Hour // how long an interrupted run can be completed if no requests are kept
)

// keptSince returns since when the texts of runs are kept: of ended runs, and of interrupted ones.
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

// Sweep removes, until ctx ends, texts of runs, responses and thoughts that are older than the
// settings allow. It looks every hour.
func (h *History) Sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		h.SweepOnce(ctx)
		n, err := h.db.Responses.Sweep(ctx)
		h.logSweep(ctx, "responses", n, err)
		n, err = h.db.Responses.SweepThoughts(ctx)
		h.logSweep(ctx, "thoughts", n, err)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// SweepOnce removes the texts of runs that are too old.
func (h *History) SweepOnce(ctx context.Context) {
	ended, cutOff := keptSince(h.settings.Current().KeepRequests, time.Now())
	n, err := h.db.Runs.SweepTexts(ctx, ended, cutOff)
	h.logSweep(ctx, "texts of runs", n, err)
}

// logSweep logs how many of something were removed, or why none could be.
func (h *History) logSweep(ctx context.Context, what string, n int64, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil:
		h.log.Warn("sweeping", "what", what, "error", err)
	case n > 0:
		h.log.Info("removed for their age", "what", what, "count", n)
	}
}
