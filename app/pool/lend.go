package pool

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/eviction"
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
	return m.pool.Users() == 0 && (m.drafter == nil || !m.drafter.Variant().Measuring)
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

// A BorrowedDrafter is loaded for a measurement, beside the drafter that the model has.
type BorrowedDrafter struct {
	*drafters.Drafter
	model *Model
	bytes int64 // counted as the model's
}

// BorrowDrafter loads another drafter of a model that was lent, as it would be loaded if it were
// set. It measures how the drafter is to be read, if that is not known. Its memory counts as the
// model's until GiveBack. The error says why it cannot be had.
func (m *Model) BorrowDrafter(ctx context.Context, source string) (*BorrowedDrafter, error) {
	if m.restoration != nil {
		return nil, m.refuseOtherDrafter()
	}
	how, bytes, err := m.reserveDrafter(ctx, source)
	if err != nil {
		return nil, err
	}
	b := &BorrowedDrafter{model: m, bytes: bytes}
	if b.Drafter, err = m.pool.openDrafter(ctx, m, source, how); err != nil {
		m.release(bytes)
		return nil, err
	}
	if b.Variant().Measuring {
		if err := m.pool.drafters.MeasureVariants(ctx, b.Drafter, m.target()); err != nil {
			m.pool.log.Info("a drafter is read as published", "model", m.row.ID, "drafter", source,
				"error", err)
		}
	}
	return b, nil
}

// GiveBack frees the drafter.
func (b *BorrowedDrafter) GiveBack() error {
	err := b.Close()
	b.model.release(b.bytes)
	return err
}

// reserveDrafter counts the memory of another drafter as the model's. It returns the format to load the
// drafter in. Error: CodeMemory.
func (m *Model) reserveDrafter(ctx context.Context, source string) (how format, bytes int64, err error) {
	how = m.format
	size, err := m.pool.measure(m.row, source, m.formatSetting)
	if err != nil { // its needs are not known, see sequenceMemory
		return how, 0, nil
	}
	how.drafterWide = size.drafterWide
	tokens := min(eviction.ShortRequest, cmp.Or(m.context, eviction.ShortRequest))
	bytes = size.drafterWeights() + size.drafter.SequenceBytes(tokens, how.wide || how.drafterWide)
	ctx, cancel := context.WithCancel(ctx) // a change may wait for the end of this measurement
	defer cancel()
	defer context.AfterFunc(m.lent, cancel)()
	err = m.pool.change(ctx, func(o *owner) error {
		if left := o.state().Left(); bytes > left {
			return control.Plain(control.CodeMemory, fmt.Sprintf(
				"It needs %s beside the model, and %s of the memory for models are left.",
				control.GiB.Of(bytes), control.GiB.Of(max(0, left))))
		}
		m.borrowed.Add(bytes)
		return nil
	})
	return how, bytes, err
}

// release takes the memory of another drafter off the model's. It does not wait for a change, which may
// wait for it.
func (m *Model) release(bytes int64) {
	m.borrowed.Add(-bytes)
	select {
	case m.pool.rebalance <- struct{}{}:
	default: // the shares are to be divided already
	}
}
