package pool

import (
	"cmp"
	"context"
	"fmt"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/plan"
)

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
	if b.Reading().Measuring {
		if err := m.pool.drafters.TryReadings(ctx, b.Drafter, m.target()); err != nil {
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

// reserveDrafter counts the memory of another drafter as the model's. It returns the form to load the
// drafter in: unpacked where that fits. Error: CodeMemory.
func (m *Model) reserveDrafter(ctx context.Context, source string) (how form, bytes int64, err error) {
	how = m.form
	size, err := m.pool.measure(m.row, source, m.formSetting)
	if err != nil { // its needs are not known, see textMemory
		how.drafts = false
		return how, 0, nil
	}
	ctx, cancel := context.WithCancel(ctx) // a change may wait for the end of this measurement
	defer cancel()
	defer context.AfterFunc(m.lent, cancel)()
	need := func() int64 {
		held := size.as(how)
		return held.drafterWeights() +
			held.drafter.SequenceBytes(min(plan.ShortRequest, cmp.Or(m.context, plan.ShortRequest)), how.wide || how.draftsWide)
	}
	err = m.pool.change(ctx, func(o *owner) error {
		left := o.state().Left()
		how.draftsWide, how.drafts = size.draftsWide, size.unpacks
		if need() > left {
			how.drafts = false
		}
		if bytes = need(); bytes > left {
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
