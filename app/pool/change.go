package pool

import (
	"context"

	"tandem/app/control"
	"tandem/storage"
)

// A change is a change of what is in memory that is in progress. There is one at a
// time. Models that stay as they are answer requests meanwhile.
type change struct {
	done   chan struct{} // closed when it has ended
	choice bool          // another model may be the choice then: who wants that waits

	set map[string]control.ModelSettings // what was set for models meanwhile, by their ids; guarded by app.mu
}

// wait waits until no change of a kind is in progress. If it returns nil the caller
// holds a.mu.
func (p *Pool) wait(ctx context.Context, of func(*change) bool) error {
	p.mu.Lock()
	for p.changing != nil && of(p.changing) {
		if err := p.waitForChange(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waitForChange waits until the change in progress has ended. The caller holds a.mu, and
// afterwards if it returns nil.
func (p *Pool) waitForChange(ctx context.Context) error {
	done := p.changing.done
	p.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.mu.Lock()
	return nil
}

// unlocked waits, in a change, until something is there to be received. The caller holds
// a.mu, now and afterwards.
func unlocked[T any](ctx context.Context, a *Pool, until <-chan T) error {
	a.mu.Unlock()
	defer a.mu.Lock()
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-a.life.Done():
		return control.ErrDraining
	}
}

// lockSettled waits until no change of what is in memory is in progress. If it
// returns nil the caller holds a.mu.
func (p *Pool) lockSettled(ctx context.Context) error {
	return p.wait(ctx, func(*change) bool { return true })
}

// lock is settle for those who must not be served any more during a drain.
func (p *Pool) lock(ctx context.Context) error {
	if err := p.lockSettled(ctx); err != nil {
		return err
	}
	if p.draining {
		p.mu.Unlock()
		return control.ErrDraining
	}
	return nil
}

// lockFor is turn for a change of one model, with its row as it is then: the row is read
// in a change, so that nobody removes it, and without the lock.
func (p *Pool) lockFor(ctx context.Context, id string) (row storage.Model, err error) {
	if err := p.lock(ctx); err != nil {
		return row, err
	}
	err = p.change(func() error {
		row, err = p.db.Model(ctx, id)
		return NotRegistered(err, id)
	})
	if err == nil && p.draining { // since
		err = control.ErrDraining
	}
	if err != nil {
		p.mu.Unlock()
	}
	return row, err
}

// begin starts a change of what is in memory; other changes wait until its
// end. The caller holds a.mu, now and when it calls end.
func (p *Pool) begin(choice bool) (end func()) {
	c := &change{done: make(chan struct{}), choice: choice, set: map[string]control.ModelSettings{}}
	p.changing = c
	return func() {
		p.changing = nil
		p.divideMemory()
		close(c.done)
	}
}

// change runs f, which changes what is in memory, without the lock; other changes
// wait until its end, also if it panics, and so do requests for models that are not
// in memory until then. The caller holds a.mu, now and afterwards.
func (p *Pool) change(f func() error) error { return p.changeFor(false, f) }

// changeFor is change that may end with another choice.
func (p *Pool) changeFor(choice bool, f func() error) error {
	end := p.begin(choice)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		end()
	}()
	return f()
}
