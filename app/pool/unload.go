package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tandem/app/control"
	"tandem/app/eviction"
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
	return p.change(ctx, func(o *owner) error {
		var ids []string
		for _, m := range o.models {
			if id == "" || m.row.ID == id {
				ids = append(ids, m.row.ID)
			}
		}
		_, busy, err := o.unload(ids)
		if busy != nil {
			return control.Errorf(control.CodeModelBusy,
				"The model %s is answering requests; try again when it is idle.", busy.row.ID)
		}
		return err
	})
}

// RemoveModel takes a model out of memory and calls remove with its row, in one change. A removed
// current model is followed by the one that is served unless another is chosen. A client that leaves
// does not end the removal half way: rows without files would stay. wasInMemory says whether the model
// was in memory. Error: CodeModelBusy while requests hold it.
func (p *Pool) RemoveModel(ctx context.Context, id string,
	remove func(context.Context, storage.Model) error) (wasInMemory bool, err error) {
	err = p.change(ctx, func(o *owner) error {
		row, err := o.db.Models.Get(ctx, id)
		if err != nil {
			return NotInstalled(err, id)
		}
		wasInMemory = find(o.models, id) != nil
		return o.removeModel(context.WithoutCancel(ctx), row, remove)
	})
	return wasInMemory, err
}

func (o *owner) removeModel(ctx context.Context, row storage.Model,
	remove func(context.Context, storage.Model) error) error {
	var idle []string
	if find(o.models, row.ID) != nil {
		idle = append(idle, row.ID)
	}
	chosen := row.ID == o.current
	if chosen {
		o.holdForSwitch()
	}
	_, busy, err := o.unload(idle)
	switch {
	case busy != nil:
		return control.Errorf(control.CodeModelBusy,
			"The model %s is answering requests; remove it when it is idle.", row.ID)
	case err != nil:
		return fmt.Errorf("unload %s: %w", row.ID, err)
	}
	if err := remove(ctx, row); err != nil {
		return err
	}
	o.perModel.Forget(row.ID)
	if !chosen {
		return nil
	}
	next, err := firstChoice(ctx, o.db)
	if err != nil {
		next = models.PocketID
	}
	o.current, o.failure = next, ""
	return errors.Join(err, o.db.ChangeSettings(ctx, map[string]*string{settingChoice: nil}))
}

// Forget calls remove at a moment when no engine holds anything from which a text could be
// restored. No change of what is in memory happens meanwhile.
func (p *Pool) Forget(ctx context.Context, remove func() error) error {
	return p.changeAlways(ctx, func(o *owner) error {
		for _, m := range o.models {
			inner := remove
			remove = func() error { return m.engine.Forget(inner) }
		}
		return remove()
	})
}

// UnloadIdle unloads models that were idle for as long as the settings say, until ctx ends.
func (p *Pool) UnloadIdle(ctx context.Context) {
	idle := eviction.IdleTimes{}
	tick := time.NewTicker(eviction.IdleStep)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			p.unloadIfIdle(ctx, idle, now)
		case <-ctx.Done():
			return
		}
	}
}

// unloadIfIdle looks once.
func (p *Pool) unloadIfIdle(ctx context.Context, idle eviction.IdleTimes, now time.Time) {
	limit := time.Duration(p.settings.Current().IdleUnloadMinutes) * time.Minute
	err := p.change(ctx, func(o *owner) error {
		s := o.state()
		s.Now = now
		unloaded, _, err := o.unload(idle.Unload(s, limit)) // none if one is used again
		for _, m := range unloaded {
			p.log.Info("an idle model leaves the memory", "model", m.row.ID,
				"minutes", int(limit.Minutes()))
		}
		return err
	})
	if err != nil && ctx.Err() == nil && !p.draining.Load() {
		p.log.Error("unloading idle models", "error", err)
	}
}

// Close ends the engine and frees what restores rows, the drafter that it reads, and then the weights, from
// which the drafter borrows.
func (m *Model) Close() error {
	m.stopEngine()
	return errors.Join(m.free(), m.drafter.Close(), m.bundle.Close(),
		m.pool.thread.Do(context.Background(), func(s *mlx.Scope) error {
			s.ClearCache()
			return nil
		}))
}
