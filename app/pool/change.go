package pool

import (
	"context"

	"tandem/app/control"
	"tandem/storage"
)

// waitWhile waits until no change of a kind is in progress. If it returns nil, the caller holds
// p.mu.
func (p *Pool) waitWhile(ctx context.Context, of func(*change) bool) error {
	p.mu.Lock()
	for p.changing != nil && of(p.changing) {
		if err := p.waitForChange(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waitForChange waits until the change in progress has ended. The caller holds p.mu, and holds it
// again if the error is nil.
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

// waitUnlocked waits for a value during a change, without the lock. The caller holds p.mu now and
// afterwards. Errors: the cause of ctx; ErrDraining.
func waitUnlocked[T any](ctx context.Context, p *Pool, until <-chan T) error {
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.life.Done():
		return control.ErrDraining
	}
}

// lockSettled waits until no change is in progress. If it returns nil, the caller holds p.mu.
func (p *Pool) lockSettled(ctx context.Context) error {
	return p.waitWhile(ctx, func(*change) bool { return true })
}

// lock is lockSettled, and refuses with ErrDraining during a drain.
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

// lockFor is lock for a change of one model, and returns the model's row as it is then. The row is
// read inside a change, so that it cannot be removed meanwhile, and without the lock.
func (p *Pool) lockFor(ctx context.Context, id string) (row storage.Model, err error) {
	if err := p.lock(ctx); err != nil {
		return row, err
	}
	err = p.change(func() error {
		row, err = p.db.Models.Get(ctx, id)
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

// begin starts a change; other changes wait until its end. The caller holds p.mu, now and when it
// calls end.
func (p *Pool) begin(choice bool) (end func()) {
	c := &change{done: make(chan struct{}), choice: choice, set: map[string]control.ModelSettings{}}
	p.changing = c
	return func() {
		p.changing = nil
		p.divideMemory()
		close(c.done)
	}
}

// change runs f as a change, without the lock. Until its end, also after a panic, other changes
// wait, and so do requests for models that are not in memory. The caller holds p.mu, now and
// afterwards.
func (p *Pool) change(f func() error) error { return p.changeFor(false, f) }

// changeFor is change. choice says that the change may end with another choice.
func (p *Pool) changeFor(choice bool, f func() error) error {
	end := p.begin(choice)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		end()
	}()
	return f()
}
