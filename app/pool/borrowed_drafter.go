package pool

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tandem/app/control"
	"tandem/app/drafters"
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
	if m.bounded != nil {
		return nil, refuseOtherDrafter(m.row)
	}
	how, bytes, err := m.reserveDrafter(source)
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
func (m *Model) reserveDrafter(source string) (how form, bytes int64, err error) {
	p := m.pool
	how = m.form
	size, err := p.measure(m.row, source, m.formSetting)
	if err != nil { // its needs are not known, see textMemory
		how.drafts = false
		return how, 0, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.roomLeft()
	need := func() int64 {
		held := size.as(how)
		return held.drafterWeights() +
			held.drafter.Text(min(shortRequest, cmp.Or(m.context, shortRequest)), how.wide || how.draftsWide)
	}
	how.draftsWide, how.drafts = size.draftsWide, size.unpacks
	if need() > left {
		how.drafts = false
	}
	if bytes = need(); bytes > left {
		return how, 0, control.Plain(control.CodeMemory, fmt.Sprintf(
			"It needs %s beside the model, and %s of the memory for models are left.",
			control.GiB.Of(bytes), control.GiB.Of(max(0, left))))
	}
	m.countMore(bytes)
	return how, bytes, nil
}

// release takes the memory of another drafter off the model's.
func (m *Model) release(bytes int64) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	m.countMore(-bytes)
}

// countMore adds bytes to the weights of the model. The caller holds the pool's mu.
func (m *Model) countMore(bytes int64) {
	m.needs.weights += bytes
	if slices.Contains(m.pool.resident, m) {
		m.pool.divideMemory()
	}
}
