package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/models"
	"tandem/storage"
)

// Acquire implements server.Pool: the model in memory is counted as used
// until the caller releases it.
func (p *Pool) Acquire(ctx context.Context, name string) (model.Model, error) {
	row, m, err := p.acquire(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	// Also for a client that leaves at this moment.
	if err := p.db.UseModel(context.WithoutCancel(ctx), row.ID); err != nil {
		p.log.Warn("noting that a model was used", "model", row.ID, "error", err)
	}
	return m, nil
}

// acquire finds the model of a name and brings it, for users as bringing has them. The
// alias is the choice at the moment when it is brought, behind a switch that is under way.
func (p *Pool) acquire(ctx context.Context, name string, users int) (row storage.Model, m *Model, err error) {
	alias := name == control.Alias || name == ""
	for {
		if alias {
			if err := p.wait(ctx, func(c *change) bool { return c.choice }); err != nil {
				return row, nil, err
			}
			name = p.choice
			p.mu.Unlock()
		}
		if row, err = p.db.Model(ctx, name); err != nil {
			return row, nil, NotRegistered(err, name)
		}
		m, err = p.getOrLoad(ctx, row, request{users: users, choice: alias})
		if err != errChanged {
			return row, m, err
		}
	}
}

// errChanged says that meanwhile another model was chosen, or the one of a row was renewed
// or removed.
var errChanged = errors.New("what the name stands for has changed")

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

// sameFiles reports whether two rows are one model: a pull may have renewed
// what an id stands for.
func sameFiles(a, b storage.Model) bool {
	return a.ID == b.ID && a.Path == b.Path && a.Revision == b.Revision
}

// inMemory returns the model of an id, nil if it is not in memory. The caller holds
// a.mu.
func (p *Pool) inMemory(id string) *Model {
	for _, m := range p.resident {
		if m.row.ID == id {
			return m
		}
	}
	return nil
}

// current returns the model that is meant where one is: the choice if it is in
// memory, else the one that was used last; nil if none is. The caller holds a.mu.
func (p *Pool) current() *Model {
	if m := p.inMemory(p.choice); m != nil {
		return m
	}
	var last *Model
	for _, m := range p.resident {
		if last == nil || m.used.After(last.used) {
			last = m
		}
	}
	return last
}

// usage returns how many requests hold a model, and how many ever held one of those
// in memory. The caller holds a.mu.
func (p *Pool) usage() (users, uses int) {
	for _, m := range p.resident {
		users += m.users
		uses += m.uses
	}
	return users, uses
}

// lookup counts the users of the model of a row and returns it, if it is in memory. If
// it is not, and nothing changes what is, the caller holds a.mu, and m is nil; the row may
// be an old one then. Error: errAnew.
func (p *Pool) lookup(ctx context.Context, row storage.Model, b request) (m *Model, err error) {
	p.mu.Lock()
	for {
		m := p.inMemory(row.ID)
		switch {
		case p.draining:
			p.mu.Unlock()
			return nil, control.ErrDraining
		case b.choice && p.choice != row.ID:
			p.mu.Unlock()
			return nil, errChanged
		case m != nil && !m.leaving && sameFiles(m.row, row):
			m.hold(b.users)
			p.mu.Unlock()
			return m, nil
		case p.changing == nil:
			return nil, nil
		}
		if err := p.waitForChange(ctx); err != nil {
			return nil, err
		}
	}
}

// hold counts those who use the model from now on. The caller holds app.mu.
func (m *Model) hold(users int) {
	m.users += users
	m.uses += users
	m.used = time.Now()
}

// Release implements model.Model.
func (m *Model) Release() {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	m.used = time.Now()
	if m.users--; m.users == 0 && m.released != nil {
		close(m.released)
		m.released = nil
	}
}

// Unload implements server.Residents.
func (p *Pool) Unload(ctx context.Context, id string) error {
	if id != "" {
		row, err := p.named(ctx, id)
		if err != nil {
			return err
		}
		id = row.ID
	}
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.mu.Unlock()
	var list []*Model
	for _, m := range p.resident {
		switch {
		case id != "" && m.row.ID != id:
			continue
		case m.users > 0:
			return control.Errorf(control.CodeModelBusy, "The model %s is answering requests; try again when it is idle.", m.row.ID)
		}
		list = append(list, m)
	}
	if list == nil {
		return nil
	}
	p.remove(list)
	return p.change(func() error { return closeAll(list) })
}

// Without takes a model out of memory and calls remove, which deletes it for good. It waits for
// changes in progress; no model is loaded until it returns. If the model was the choice, the pocket
// model becomes the choice. A client that leaves does not end it half way: rows without files would
// stay. wasInMemory says whether the model was in memory. Error: CodeModelBusy while requests hold it.
func (p *Pool) Without(ctx context.Context, id string, remove func(context.Context, storage.Model) error) (wasInMemory bool, err error) {
	row, err := p.lockFor(ctx, id)
	if err != nil {
		return false, err
	}
	defer p.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	idle := p.inMemory(id)
	if idle != nil {
		if idle.users > 0 {
			return false, control.Errorf(control.CodeModelBusy, "The model %s is answering requests; remove it when it is idle.", id)
		}
		p.remove([]*Model{idle})
	}
	chosen, gone := p.choice == id, false
	err = p.changeFor(chosen, func() error {
		if idle != nil {
			if err := idle.Close(); err != nil {
				return fmt.Errorf("unload %s: %w", id, err)
			}
		}
		if err := remove(ctx, row); err != nil || !chosen {
			return err
		}
		gone = true
		return p.db.SetSetting(ctx, settingChoice, models.PocketID)
	})
	if gone {
		p.choice, p.failure = models.PocketID, ""
	}
	return idle != nil, err
}

// InMemory reports whether the model of an id is in memory.
func (p *Pool) InMemory(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inMemory(id) != nil
}

// Choice returns the id of the choice.
func (p *Pool) Choice() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.choice
}

// Users returns how many requests hold a model.
func (p *Pool) Users() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	users, _ := p.usage()
	return users
}

// WritesCheckpoints reports whether a model has checkpoints that are not on disk yet.
func (p *Pool) WritesCheckpoints() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.resident, func(m *Model) bool { return m.store != nil && m.store.Busy() })
}

// Drain refuses requests from now on.
func (p *Pool) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining = true
}

// Close waits for changes in progress and frees the models. No model is loaded any more.
func (p *Pool) Close() error {
	_ = p.lockSettled(context.Background()) // a context without an end
	list := p.resident
	p.resident, p.draining = nil, true
	p.mu.Unlock()
	return closeAll(list)
}

// Emptied calls remove while no engine has anything of a text that could be
// restored. No model comes or goes meanwhile.
func (p *Pool) Emptied(ctx context.Context, remove func() error) error {
	if err := p.lockSettled(ctx); err != nil {
		return err
	}
	defer p.mu.Unlock()
	for _, m := range p.resident {
		inner := remove
		remove = func() error { return m.Engine.Forget(inner) }
	}
	return p.change(remove)
}

// add adds models to those in memory, in a change. The caller holds a.mu.
func (p *Pool) add(list ...*Model) {
	for _, m := range list {
		p.applySettings(m)
		p.resident = append(p.resident, m)
	}
}

// applySettings tells a model what was set for it in a change, in which it was not in memory: what
// was set before it knows. The caller holds a.mu.
func (p *Pool) applySettings(m *Model) {
	if own, ok := p.changing.set[m.row.ID]; ok {
		m.own = own
	}
}

// remove takes models out of the list of those in memory, which the caller frees. The
// caller holds a.mu.
func (p *Pool) remove(list []*Model) {
	p.resident = slices.DeleteFunc(p.resident, func(m *Model) bool { return slices.Contains(list, m) })
}

// closeAll frees models that nobody has any more.
func closeAll(list []*Model) error {
	var errs []error
	for _, m := range list {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
