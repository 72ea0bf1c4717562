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

// Load makes a model the choice and loads it. It implements server.Residents.
//
// Requests for the choice before it end first, and new requests wait for the new choice. If that
// cannot be loaded, the choice before it goes on. Other models stay if there is memory for them. A
// model in memory is loaded again if its weights on disk have changed.
func (p *Pool) Load(ctx context.Context, id string) error {
	row, err := p.db.Model(ctx, id)
	if err != nil {
		return NotRegistered(err, id)
	}
	if row.Source != storage.SourcePocket { // before any request has to wait
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

// switchTo loads a model in place of the choice, from the files as they are now, and makes it the
// choice.
func (p *Pool) switchTo(ctx context.Context, id string) error {
	row, err := p.lockFor(ctx, id)
	if err != nil {
		return err
	}
	if m := p.inMemory(row.ID); m != nil && sameFiles(m.row, row) &&
		m.weights == WeightsKey(row.Path) {
		m.used = time.Now()
		p.choice, p.failure = row.ID, ""
		p.mu.Unlock()
		return nil
	}
	old := p.inMemory(p.choice)
	progress, end := &loading{id: row.ID}, p.begin(true)
	p.loading = progress
	p.mu.Unlock()
	// This is deferred, so that other changes go on even after a panic.
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
	need, gone, err := p.makeRoom(ctx, row, arrival{isChoice: true, replaces: old})
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
	return &control.Error{Code: control.CodeModelInvalid, Err: err,
		Message: fmt.Sprintf("%s cannot be loaded, and %s goes on: %v", row.ID, old.row.ID, err)}
}

// restore loads models again, with the contexts that they had, after the load for which they left
// has failed. Their memory was kept, see evict.
func (p *Pool) restore(gone []*Model) (came []*Model) {
	for _, m := range gone {
		back, err := p.load(m.row, m.context, p.announceLoading(m.row.ID))
		if err != nil {
			p.log.Warn("a model that was unloaded for another cannot be loaded again",
				"model", m.row.ID, "error", err)
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

// announceLoading makes another model the one that is being loaded, in the memory that is kept.
func (p *Pool) announceLoading(id string) *loading {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loading = &loading{id: id, needs: p.loading.needs}
	return p.loading
}

// noteFailure keeps for the state why the choice cannot be loaded, unless an earlier one of its
// name is in memory. The caller holds p.mu.
func (p *Pool) noteFailure(id string, err error) {
	if p.inMemory(id) == nil && p.choice == id {
		p.failure = err.Error()
	}
}

// waitUntilUnused waits until no request holds a model. A change is in progress and the model is
// marked as leaving, so that no new request gets it. The caller holds p.mu, now and afterwards.
func (p *Pool) waitUntilUnused(ctx context.Context, m *Model) error {
	for m.users > 0 {
		released := make(chan struct{})
		m.released = released
		if err := waitUnlocked(ctx, p, released); err != nil {
			return err
		}
	}
	return nil
}
