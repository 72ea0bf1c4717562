package pool

import (
	"context"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/storage"
)

// Acquire returns the model of a name, loaded if needed. It counts as used until the caller
// releases it. It implements api.Pool.
func (p *Pool) Acquire(ctx context.Context, name string) (model.Model, error) {
	row, m, err := p.acquire(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	// This is noted also for a client that leaves at this moment.
	if err := p.db.Models.MarkUsed(context.WithoutCancel(ctx), row.ID); err != nil {
		p.log.Warn("noting that a model was used", "model", row.ID, "error", err)
	}
	return m, nil
}

// acquire returns the row and the model of a name, held by so many users; see loadRequest. The
// alias means the choice at the moment when the model is taken, after any switch in progress.
func (p *Pool) acquire(ctx context.Context, name string,
	users int) (row storage.Model, m *Model, err error) {
	alias := name == control.Alias || name == ""
	for {
		if alias {
			if err := p.waitWhile(ctx, func(c *change) bool { return c.choice }); err != nil {
				return row, nil, err
			}
			name = p.choice
			p.mu.Unlock()
		}
		if row, err = p.db.Models.Get(ctx, name); err != nil {
			return row, nil, NotRegistered(err, name)
		}
		m, err = p.getOrLoad(ctx, loadRequest{row: row, users: users, alias: alias})
		if err != errChanged {
			return row, m, err
		}
	}
}

// addUsers counts the requests that use the model from now on. The caller holds p.mu.
func (m *Model) addUsers(users int) {
	m.users += users
	m.uses += users
	m.used = time.Now()
}

// Release lets the model be unloaded again. It implements model.Model.
func (m *Model) Release() {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	m.used = time.Now()
	if m.users--; m.users == 0 && m.released != nil {
		close(m.released)
		m.released = nil
	}
}
