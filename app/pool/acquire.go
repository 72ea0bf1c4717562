package pool

import (
	"context"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/storage"
)

// Acquire returns the model of a name, loaded if needed. It counts as used until the caller
// releases it. It implements api.Pool.
func (p *Pool) Acquire(ctx context.Context, name string) (model.Model, error) {
	m, err := p.acquire(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	// This is noted also for a client that leaves at this moment.
	if err := p.db.Models.MarkUsed(context.WithoutCancel(ctx), m.row.ID); err != nil {
		p.log.Warn("noting that a model was used", "model", m.row.ID, "error", err)
	}
	return m, nil
}

// acquire returns the model of a name, held by so many users; 0 loads it ahead of requests, so that
// another model may still replace it. The alias means the current model at the moment when the model is
// taken, after any switch in progress.
func (p *Pool) acquire(ctx context.Context, name string, users int) (*Model, error) {
	alias := name == control.Alias || name == ""
	for {
		id := name
		if alias {
			var err error
			if id, err = p.awaitCurrent(ctx); err != nil {
				return nil, err
			}
		}
		row, err := p.db.Models.Get(ctx, id)
		if err != nil {
			return nil, NotInstalled(err, id)
		}
		if p.draining.Load() {
			return nil, control.ErrDraining
		}
		v := p.look()
		if m := find(v.models, row.ID); m != nil && sameFiles(m.row, row) && m.users.take(users) {
			if !alias || p.Choice() == row.ID {
				return m, nil
			}
			for range users { // another model was chosen meanwhile
				m.Release()
			}
			continue
		}
		var m *Model
		err = p.changeUnless(ctx, v.done, func(o *owner) (err error) {
			if p.draining.Load() {
				return control.ErrDraining
			}
			m, err = o.acquire(ctx, name, users)
			return err
		})
		if err != errChanged { // else the model may be in memory now, and the next change takes long
			return m, err
		}
	}
}

// acquire is Pool.acquire for a model that may have to be loaded. Its row is read again, since it may
// have changed; it is not removed during a change.
func (o *owner) acquire(ctx context.Context, name string, users int) (*Model, error) {
	if name == control.Alias || name == "" {
		name = o.current
	}
	row, err := o.db.Models.Get(ctx, name)
	if err != nil {
		return nil, NotInstalled(err, name)
	}
	m := find(o.models, row.ID)
	if m == nil || !sameFiles(m.row, row) {
		if m, err = o.load(ctx, row, false); err != nil {
			return nil, err
		}
	}
	m.users.take(users) // it is open: only the owner closes it
	return m, nil
}

// sameFiles reports whether two rows stand for the same files. A pull may have renewed the files of
// an id.
func sameFiles(a, b storage.Model) bool {
	return a.ID == b.ID && a.Path == b.Path && a.Revision == b.Revision
}

// Release lets the model be unloaded again. It implements model.Model.
func (m *Model) Release() { m.users.release() }

// Preload loads the current model ahead of the first request.
func (p *Pool) Preload(ctx context.Context) error {
	_, err := p.acquire(ctx, control.Alias, 0)
	return err
}

// Borrow holds the current model for a measurement, and loads it if needed. That counts as use. The
// caller calls Release.
func (p *Pool) Borrow(ctx context.Context) (*Model, error) { return p.acquire(ctx, control.Alias, 1) }
