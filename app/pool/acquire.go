package pool

import (
	"context"
	"errors"
	"time"

	"tandem/app/control"
	"tandem/app/model"
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

// sameFiles reports whether two rows are one model: a pull may have renewed
// what an id stands for.
func sameFiles(a, b storage.Model) bool {
	return a.ID == b.ID && a.Path == b.Path && a.Revision == b.Revision
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
