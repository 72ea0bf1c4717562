package pool

import (
	"context"
	"time"

	"tandem/app/drafters"
	"tandem/engine/mlx"
	"tandem/models"
)

// Measurements borrow a model that requests use. They do not hold it: whoever wants the model
// unloaded or changed ends them, and requests always come first.

// Lend calls f on its own goroutine. The model stays in memory until f has returned; gone ends when
// it is to leave the memory or to get another drafter. The caller holds the model.
func (m *Model) Lend(f func(gone context.Context)) { m.borrowers.Go(func() { f(m.lent) }) }

// Thread is the thread that the model's arrays belong to.
func (m *Model) Thread() *mlx.Thread { return m.pool.thread }

// Bundle is the model's weights and tokenizer.
func (m *Model) Bundle() *models.Bundle { return m.bundle }

// Drafter is the model's drafter, nil if it has none.
func (m *Model) Drafter() *drafters.Drafter { return m.drafter }

// IsQuiet reports whether no request holds any model, and the drafter is not being measured.
func (m *Model) IsQuiet() bool {
	return m.pool.Users() == 0 && (m.drafter == nil || !m.drafter.Reading().Measuring)
}

// Watch counts the model as used. disturbed reports whether a request has come since.
func (m *Model) Watch() (disturbed func() bool) {
	p := m.pool
	m.users.touch()
	seen := p.uses.Load()
	return func() bool { return p.Users() > 0 || p.uses.Load() != seen }
}

// AwaitIdle waits until no request holds this model or another. Error: that of ctx.
func (m *Model) AwaitIdle(ctx context.Context) error {
	for ctx.Err() == nil && m.pool.Users() > 0 {
		select {
		case <-time.After(drafters.TrialPause):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}
