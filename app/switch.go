package app

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
func (a *App) Load(ctx context.Context, id string) error {
	row, err := a.db.Model(ctx, id)
	if err != nil {
		return a.notRegistered(err, id)
	}
	if row.Source != storage.SourcePocket { // before anybody has to wait
		if _, err := models.Inspect(row.Path); err != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.noteFailure(id, err)
			return invalidModel(err)
		}
	}
	if _, err := a.demand(ctx, row); err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.noteFailure(id, err)
		return err
	}
	if err := a.switchTo(ctx, id); err != nil {
		return err
	}
	return a.db.SetSetting(context.WithoutCancel(ctx), settingChoice, id)
}

// switchTo brings a model, with the weights that lie there now, in place of the choice,
// and makes it the choice.
func (a *App) switchTo(ctx context.Context, id string) error {
	row, err := a.turnFor(ctx, id)
	if err != nil {
		return err
	}
	if m := a.inMemory(row.ID); m != nil && sameFiles(m.row, row) && m.weights == weightsKey(row.Path) {
		m.used = time.Now()
		a.choice, a.failure = row.ID, ""
		a.mu.Unlock()
		return nil
	}
	old := a.inMemory(a.choice)
	progress, end := &coming{id: row.ID}, a.begin(true)
	a.coming = progress
	a.mu.Unlock()
	// Deferred, so that not even a panic leaves the others waiting.
	var came []*loaded
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.coming = nil
		a.enter(came...)
		if err != nil && a.life.Err() == nil {
			a.noteFailure(row.ID, err)
		}
		end()
	}()
	need, gone, err := a.makeRoom(ctx, row, arrival{wins: true, instead: old})
	if err != nil {
		return err
	}
	m, err := a.load(row, need.context, progress)
	if err == nil {
		came = []*loaded{m}
		a.mu.Lock()
		a.choice, a.failure = row.ID, ""
		a.mu.Unlock()
		return nil
	}
	if a.life.Err() != nil {
		return control.ErrDraining
	}
	came = a.restore(gone)
	if old == nil || slices.Contains(gone, old) && !slices.ContainsFunc(came, func(m *loaded) bool { return m.row.ID == old.row.ID }) {
		return err
	}
	return &control.Error{Code: control.CodeModelInvalid, Err: err, Message: fmt.Sprintf("%s cannot be loaded, and %s goes on: %v", row.ID, old.row.ID, err)}
}

// restore loads again, with the contexts that they had, what left the memory for a model
// that then could not be loaded: its room was kept, see vacate.
func (a *App) restore(gone []*loaded) (came []*loaded) {
	for _, m := range gone {
		back, err := a.load(m.row, m.context, a.comes(m.row.ID))
		if err != nil {
			a.log.Warn("a model that left the memory for another does not come back", "model", m.row.ID, "error", err)
			a.mu.Lock()
			a.noteFailure(m.row.ID, err)
			a.mu.Unlock()
			continue
		}
		back.used = m.used
		came = append(came, back)
	}
	return came
}

// comes has another model be the one that is being loaded, in the room that is kept.
func (a *App) comes(id string) *coming {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.coming = &coming{id: id, needs: a.coming.needs}
	return a.coming
}

// noteFailure keeps why the choice cannot be loaded, for the state, unless it is in
// memory as it was before. The caller holds a.mu.
func (a *App) noteFailure(id string, err error) {
	if a.inMemory(id) == nil && a.choice == id {
		a.failure = err.Error()
	}
}

// idle waits until nobody holds a model. The caller holds a.mu, now and afterwards; a
// change is in progress and the model is marked, so that nobody new takes it.
func (a *App) idle(ctx context.Context, m *loaded) error {
	for m.users > 0 {
		released := make(chan struct{})
		m.released = released
		if err := unlocked(ctx, a, released); err != nil {
			return err
		}
	}
	return nil
}
