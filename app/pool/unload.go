package pool

import (
	"context"
	"errors"
	"fmt"

	"tandem/app/control"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
)

// Unload frees the model of an id, or all models if id is empty. It frees none while requests hold
// one of them: CodeModelBusy. It implements server.Residents.
func (p *Pool) Unload(ctx context.Context, id string) error {
	if id != "" {
		row, err := p.findModel(ctx, id)
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
			return control.Errorf(control.CodeModelBusy,
				"The model %s is answering requests; try again when it is idle.", m.row.ID)
		}
		list = append(list, m)
	}
	if list == nil {
		return nil
	}
	p.remove(list)
	return p.change(func() error { return closeAll(list) })
}

// RemoveModel takes a model out of memory and calls remove with its row, in one change. A removed
// choice is followed by the model that is served unless another is chosen. A client that leaves does
// not end the removal half way: rows without files would stay. wasInMemory says whether the model
// was in memory. Error: CodeModelBusy while requests hold it.
func (p *Pool) RemoveModel(ctx context.Context, id string,
	remove func(context.Context, storage.Model) error) (wasInMemory bool, err error) {
	row, err := p.lockFor(ctx, id)
	if err != nil {
		return false, err
	}
	defer p.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	idle := p.inMemory(id)
	if idle != nil {
		if idle.users > 0 {
			return false, control.Errorf(control.CodeModelBusy,
				"The model %s is answering requests; remove it when it is idle.", id)
		}
		p.remove([]*Model{idle})
	}
	chosen, next := p.choice == id, ""
	err = p.changeFor(chosen, func() error {
		if idle != nil {
			if err := idle.Close(); err != nil {
				return fmt.Errorf("unload %s: %w", id, err)
			}
		}
		if err := remove(ctx, row); err != nil || !chosen {
			return err
		}
		if next, err = firstChoice(ctx, p.db); err != nil {
			next = models.PocketID
		}
		return errors.Join(err,
			p.db.ChangeSettings(ctx, map[string]*string{settingChoice: nil}))
	})
	if next != "" {
		p.choice, p.failure = next, ""
	}
	return idle != nil, err
}

// Forget calls remove at a moment when no engine holds anything from which a text could be
// restored. No change of what is in memory happens meanwhile.
func (p *Pool) Forget(ctx context.Context, remove func() error) error {
	if err := p.lockSettled(ctx); err != nil {
		return err
	}
	defer p.mu.Unlock()
	for _, m := range p.resident {
		inner := remove
		remove = func() error { return m.engine.Forget(inner) }
	}
	return p.change(remove)
}

// Close ends the engine and frees the f_theta, the drafter that it reads, and then the weights, from
// which the drafter borrows.
func (m *Model) Close() error {
	m.stopEngine()
	return errors.Join(m.bounded.close(), m.drafter.Close(), m.vocabulary.Close(), m.bundle.Close(),
		m.pool.thread.Do(context.Background(), func(s *mlx.Scope) error {
			s.ClearCache()
			return nil
		}))
}

// closeAll frees models that are off the list and that no request holds.
func closeAll(list []*Model) error {
	var errs []error
	for _, m := range list {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
