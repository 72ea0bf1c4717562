package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"tandem/app/control"
)

// An interrupted model is quiet but for the requests that the test counts.
type interrupted struct {
	Borrowed
	requests atomic.Int64
}

func (m *interrupted) IsQuiet() bool { return true }

func (m *interrupted) Watch() func() bool {
	seen := m.requests.Load()
	return func() bool { return m.requests.Load() != seen }
}

// The result of the attempt that a request disturbed does not count.
func TestDisturbedMeasurementIsRepeated(t *testing.T) {
	m := &interrupted{}
	b := NewShort(m, "", Minutes, func(control.BenchProgress) {})
	attempts := 0
	err := b.measureIdle(t.Context(), func(ctx context.Context) error {
		attempts++
		if attempts == 1 {
			m.requests.Add(1)
			<-ctx.Done()
		}
		return ctx.Err()
	})
	if err != nil || attempts != 2 || b.repeats != 1 {
		t.Errorf("%d attempts, %d repeated, %v; want 2 and 1", attempts, b.repeats, err)
	}
	failed := errors.New("failed")
	if err := b.measureIdle(t.Context(), func(context.Context) error { return failed }); err != failed {
		t.Errorf("the error is %v, want that of the measurement", err)
	}
}
