package app

import (
	"context"
	"errors"
	"fmt"

	"tandem/app/control"
	"tandem/models"
	"tandem/storage"
)

// Load implements server.Admin: it makes a model the choice. Requests for the one
// before it end first, new ones wait for the new one, and if that cannot be loaded
// the one before it goes on.
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
	need, err := a.demand(ctx, row)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.noteFailure(id, err)
		return err
	}
	if err := a.switchTo(ctx, row, need.context); err != nil {
		return err
	}
	return a.db.SetSetting(context.WithoutCancel(ctx), settingChoice, id)
}

// switchTo brings a model in place of the one in memory, with a context of so many
// tokens, and makes it the choice.
func (a *App) switchTo(ctx context.Context, row storage.Model, length int) error {
	if err := a.turn(ctx); err != nil {
		return err
	}
	old := a.loaded
	if old != nil && sameFiles(old.row, row) {
		a.choice, a.failure = row.ID, ""
		a.mu.Unlock()
		return nil
	}
	progress, end := &coming{id: row.ID}, a.begin()
	a.coming = progress
	// Deferred, so that not even a panic leaves the others waiting.
	var m *loaded
	var err error
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.coming = nil
		if m != nil {
			a.loaded = m
		}
		if err != nil && a.life.Err() == nil {
			a.noteFailure(row.ID, err)
		}
		end()
	}()
	if old != nil {
		if err := a.idle(ctx, old); err != nil {
			return err
		}
		a.loaded = nil
	}
	a.mu.Unlock()
	if m, err = a.replace(old, row, length, progress); err == nil {
		a.mu.Lock()
		a.choice, a.failure = row.ID, ""
		a.mu.Unlock()
		return nil
	}
	if a.life.Err() != nil {
		return errDraining
	}
	if old == nil {
		return err
	}
	back, backErr := a.replace(nil, old.row, old.context, &coming{id: old.row.ID})
	if backErr != nil {
		a.mu.Lock()
		a.noteFailure(old.row.ID, backErr)
		a.mu.Unlock()
		return errors.Join(err, backErr)
	}
	m = back
	return &control.Error{Code: control.CodeModelInvalid, Err: err, Message: fmt.Sprintf("%s cannot be loaded, and %s goes on: %v", row.ID, old.row.ID, err)}
}

// noteFailure keeps why the choice cannot be loaded, for the state, where nothing
// is in memory in its place. The caller holds a.mu.
func (a *App) noteFailure(id string, err error) {
	if a.loaded == nil && a.choice == id {
		a.failure = err.Error()
	}
}

// idle waits until nobody holds a model. The caller holds a.mu, and holds it again
// if there is no error; a change is in progress, so that nobody new takes it.
func (a *App) idle(ctx context.Context, m *loaded) error {
	for m.users > 0 {
		released := make(chan struct{})
		m.released = released
		a.mu.Unlock()
		select {
		case <-released:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-a.life.Done():
			return errDraining
		}
		a.mu.Lock()
	}
	return nil
}
