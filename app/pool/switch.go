package pool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tandem/app/control"
	"tandem/models"
	"tandem/storage"
)

// Load implements server.Residents: it makes a model the choice. Requests for the one
// before it end first, new ones wait for the new one, and if that cannot be loaded
// the one before it goes on. Others in memory stay as far as there is room. One that is
// in memory is loaded anew if its weights on disk have changed.
func (p *Pool) Load(ctx context.Context, id string) error {
	row, err := p.db.Model(ctx, id)
	if err != nil {
		return NotRegistered(err, id)
	}
	if row.Source != storage.SourcePocket { // before anybody has to wait
		if _, err := models.Inspect(row.Path); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.noteFailure(id, err)
			return InvalidModel(err)
		}
	}
	if _, err := p.demand(ctx, row); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.noteFailure(id, err)
		return err
	}
	if err := p.switchTo(ctx, id); err != nil {
		return err
	}
	return p.db.SetSetting(context.WithoutCancel(ctx), settingChoice, id)
}

// switchTo brings a model, with the weights that lie there now, in place of the choice,
// and makes it the choice.
func (p *Pool) switchTo(ctx context.Context, id string) error {
	row, err := p.lockFor(ctx, id)
	if err != nil {
		return err
	}
	if m := p.inMemory(row.ID); m != nil && sameFiles(m.row, row) && m.weights == WeightsKey(row.Path) {
		m.used = time.Now()
		p.choice, p.failure = row.ID, ""
		p.mu.Unlock()
		return nil
	}
	old := p.inMemory(p.choice)
	progress, end := &loading{id: row.ID}, p.begin(true)
	p.loading = progress
	p.mu.Unlock()
	// Deferred, so that not even a panic leaves the others waiting.
	var came []*Model
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.loading = nil
		p.add(came...)
		if err != nil && p.life.Err() == nil {
			p.noteFailure(row.ID, err)
		}
		end()
	}()
	need, gone, err := p.makeRoom(ctx, row, arrival{wins: true, instead: old})
	if err != nil {
		return err
	}
	m, err := p.load(row, need.context, progress)
	if err == nil {
		came = []*Model{m}
		p.mu.Lock()
		p.choice, p.failure = row.ID, ""
		p.mu.Unlock()
		return nil
	}
	if p.life.Err() != nil {
		return control.ErrDraining
	}
	came = p.restore(gone)
	if old == nil || slices.Contains(gone, old) && !slices.ContainsFunc(came, func(m *Model) bool { return m.row.ID == old.row.ID }) {
		return err
	}
	return &control.Error{Code: control.CodeModelInvalid, Err: err, Message: fmt.Sprintf("%s cannot be loaded, and %s goes on: %v", row.ID, old.row.ID, err)}
}

// restore loads again, with the contexts that they had, what left the memory for a model
// that then could not be loaded: its room was kept, see vacate.
func (p *Pool) restore(gone []*Model) (came []*Model) {
	for _, m := range gone {
		back, err := p.load(m.row, m.context, p.announce(m.row.ID))
		if err != nil {
			p.log.Warn("a model that left the memory for another does not come back", "model", m.row.ID, "error", err)
			p.mu.Lock()
			p.noteFailure(m.row.ID, err)
			p.mu.Unlock()
			continue
		}
		back.used = m.used
		came = append(came, back)
	}
	return came
}

// announce has another model be the one that is being loaded, in the room that is kept.
func (p *Pool) announce(id string) *loading {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loading = &loading{id: id, needs: p.loading.needs}
	return p.loading
}

// noteFailure keeps why the choice cannot be loaded, for the state, unless it is in
// memory as it was before. The caller holds a.mu.
func (p *Pool) noteFailure(id string, err error) {
	if p.inMemory(id) == nil && p.choice == id {
		p.failure = err.Error()
	}
}

// waitUntilUnused waits until nobody holds a model. The caller holds a.mu, now and afterwards; a
// change is in progress and the model is marked, so that nobody new takes it.
func (p *Pool) waitUntilUnused(ctx context.Context, m *Model) error {
	for m.users > 0 {
		released := make(chan struct{})
		m.released = released
		if err := unlocked(ctx, p, released); err != nil {
			return err
		}
	}
	return nil
}
