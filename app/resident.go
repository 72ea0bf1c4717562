package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/storage"
)

// Acquire implements server.Pool: the model in memory is counted as used
// until the caller releases it.
func (a *App) Acquire(ctx context.Context, name string) (model.Model, error) {
	row, m, err := a.acquire(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	// Also for a client that leaves at this moment.
	if err := a.db.UseModel(context.WithoutCancel(ctx), row.ID); err != nil {
		a.log.Warn("noting that a model was used", "model", row.ID, "error", err)
	}
	return m, nil
}

// acquire finds the model of a name and brings it, for users as bringing has them. The
// alias is the choice at the moment when it is brought, behind a switch that is under way.
func (a *App) acquire(ctx context.Context, name string, users int) (row storage.Model, m *loaded, err error) {
	alias := name == control.Alias || name == ""
	for {
		if alias {
			if err := a.wait(ctx, func(c *changing) bool { return c.choice }); err != nil {
				return row, nil, err
			}
			name = a.choice
			a.mu.Unlock()
		}
		if row, err = a.db.Model(ctx, name); err != nil {
			return row, nil, a.notRegistered(err, name)
		}
		m, err = a.bring(ctx, row, bringing{users: users, choice: alias})
		if err != errAnew {
			return row, m, err
		}
	}
}

// errAnew says that meanwhile another model was chosen, or the one of a row was renewed
// or removed.
var errAnew = errors.New("what the name stands for has changed")

// A changing is a change of what is in memory that is in progress. There is one at a
// time. Models that stay as they are answer requests meanwhile.
type changing struct {
	done   chan struct{} // closed when it has ended
	choice bool          // another model may be the choice then: who wants that waits

	set map[string]control.ModelSettings // what was set for models meanwhile, by their ids; guarded by app.mu
}

// wait waits until no change of a kind is in progress. If it returns nil the caller
// holds a.mu.
func (a *App) wait(ctx context.Context, of func(*changing) bool) error {
	a.mu.Lock()
	for a.changing != nil && of(a.changing) {
		if err := a.behind(ctx); err != nil {
			return err
		}
	}
	return nil
}

// behind waits until the change in progress has ended. The caller holds a.mu, and
// afterwards if it returns nil.
func (a *App) behind(ctx context.Context) error {
	done := a.changing.done
	a.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	a.mu.Lock()
	return nil
}

// unlocked waits, in a change, until something is there to be received. The caller holds
// a.mu, now and afterwards.
func unlocked[T any](ctx context.Context, a *App, until <-chan T) error {
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

// settle waits until no change of what is in memory is in progress. If it
// returns nil the caller holds a.mu.
func (a *App) settle(ctx context.Context) error {
	return a.wait(ctx, func(*changing) bool { return true })
}

// turn is settle for those who must not be served any more during a drain.
func (a *App) turn(ctx context.Context) error {
	if err := a.settle(ctx); err != nil {
		return err
	}
	if a.draining {
		a.mu.Unlock()
		return control.ErrDraining
	}
	return nil
}

// turnFor is turn for a change of one model, with its row as it is then: the row is read
// in a change, so that nobody removes it, and without the lock.
func (a *App) turnFor(ctx context.Context, id string) (row storage.Model, err error) {
	if err := a.turn(ctx); err != nil {
		return row, err
	}
	err = a.change(func() error {
		row, err = a.db.Model(ctx, id)
		return a.notRegistered(err, id)
	})
	if err == nil && a.draining { // since
		err = control.ErrDraining
	}
	if err != nil {
		a.mu.Unlock()
	}
	return row, err
}

// begin starts a change of what is in memory; other changes wait until its
// end. The caller holds a.mu, now and when it calls end.
func (a *App) begin(choice bool) (end func()) {
	c := &changing{done: make(chan struct{}), choice: choice, set: map[string]control.ModelSettings{}}
	a.changing = c
	return func() {
		a.changing = nil
		a.allot()
		close(c.done)
	}
}

// change runs f, which changes what is in memory, without the lock; other changes
// wait until its end, also if it panics, and so do requests for models that are not
// in memory until then. The caller holds a.mu, now and afterwards.
func (a *App) change(f func() error) error { return a.changeFor(false, f) }

// changeFor is change that may end with another choice.
func (a *App) changeFor(choice bool, f func() error) error {
	end := a.begin(choice)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
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
func (a *App) inMemory(id string) *loaded {
	for _, m := range a.resident {
		if m.row.ID == id {
			return m
		}
	}
	return nil
}

// foremost returns the model that is meant where one is: the choice if it is in
// memory, else the one that was used last; nil if none is. The caller holds a.mu.
func (a *App) foremost() *loaded {
	if m := a.inMemory(a.choice); m != nil {
		return m
	}
	var last *loaded
	for _, m := range a.resident {
		if last == nil || m.used.After(last.used) {
			last = m
		}
	}
	return last
}

// usage returns how many requests hold a model, and how many ever held one of those
// in memory. The caller holds a.mu.
func (a *App) usage() (users, uses int) {
	for _, m := range a.resident {
		users += m.users
		uses += m.uses
	}
	return users, uses
}

// take counts the users of the model of a row and returns it, if it is in memory. If
// it is not, and nothing changes what is, the caller holds a.mu, and m is nil; the row may
// be an old one then. Error: errAnew.
func (a *App) take(ctx context.Context, row storage.Model, b bringing) (m *loaded, err error) {
	a.mu.Lock()
	for {
		m := a.inMemory(row.ID)
		switch {
		case a.draining:
			a.mu.Unlock()
			return nil, control.ErrDraining
		case b.choice && a.choice != row.ID:
			a.mu.Unlock()
			return nil, errAnew
		case m != nil && !m.leaving && sameFiles(m.row, row):
			m.hold(b.users)
			a.mu.Unlock()
			return m, nil
		case a.changing == nil:
			return nil, nil
		}
		if err := a.behind(ctx); err != nil {
			return nil, err
		}
	}
}

// hold counts those who use the model from now on. The caller holds app.mu.
func (m *loaded) hold(users int) {
	m.users += users
	m.uses += users
	m.used = time.Now()
}

// Release implements model.Model.
func (m *loaded) Release() {
	m.app.mu.Lock()
	defer m.app.mu.Unlock()
	m.used = time.Now()
	if m.users--; m.users == 0 && m.released != nil {
		close(m.released)
		m.released = nil
	}
}

// Unload implements server.Residents.
func (a *App) Unload(ctx context.Context, id string) error {
	if id != "" {
		row, err := a.named(ctx, id)
		if err != nil {
			return err
		}
		id = row.ID
	}
	if err := a.turn(ctx); err != nil {
		return err
	}
	defer a.mu.Unlock()
	var list []*loaded
	for _, m := range a.resident {
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
	a.drop(list)
	return a.change(func() error { return closeAll(list) })
}

// enter adds models to those in memory, in a change. The caller holds a.mu.
func (a *App) enter(list ...*loaded) {
	for _, m := range list {
		a.tell(m)
		a.resident = append(a.resident, m)
	}
}

// tell tells a model what was set for it in a change, in which it was not in memory: what
// was set before it knows. The caller holds a.mu.
func (a *App) tell(m *loaded) {
	if own, ok := a.changing.set[m.row.ID]; ok {
		m.own = own
	}
}

// drop takes models out of the list of those in memory, which the caller frees. The
// caller holds a.mu.
func (a *App) drop(list []*loaded) {
	a.resident = slices.DeleteFunc(a.resident, func(m *loaded) bool { return slices.Contains(list, m) })
}

// closeAll frees models that nobody has any more.
func closeAll(list []*loaded) error {
	var errs []error
	for _, m := range list {
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}
