package app

import (
	"context"
	"fmt"
	"time"

	"tandem/app/control"
	"tandem/app/server"
	"tandem/engine"
	"tandem/models"
	"tandem/storage"
)

// Acquire implements server.Catalogue: the model in memory is counted as used
// until the caller releases it.
func (a *App) Acquire(ctx context.Context, name string) (server.Model, error) {
	if name == control.Alias || name == "" {
		a.mu.Lock()
		name = a.choice
		a.mu.Unlock()
	}
	row, err := a.db.Model(ctx, name)
	if err != nil {
		return nil, a.notRegistered(err, name)
	}
	m, err := a.acquire(ctx, row)
	if err != nil {
		return nil, err
	}
	// Also for a client that leaves at this moment.
	if err := a.db.UseModel(context.WithoutCancel(ctx), row.ID); err != nil {
		a.log.Warn("noting that a model was used", "model", row.ID, "error", err)
	}
	return m, nil
}

// acquire waits for a load in progress, then takes the model in memory or
// loads it in place of an idle one.
func (a *App) acquire(ctx context.Context, row storage.Model) (*loaded, error) {
	a.mu.Lock()
	for a.loading != nil {
		wait := a.loading
		a.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		a.mu.Lock()
	}
	if a.draining {
		a.mu.Unlock()
		return nil, control.Errorf(control.CodeNotReady, "Tandem is shutting down; try again when it runs.")
	}
	old := a.loaded
	switch {
	case old != nil && old.row.ID == row.ID:
		old.users++
		a.mu.Unlock()
		return old, nil
	case old != nil && old.users > 0:
		a.mu.Unlock()
		return nil, control.Errorf(control.CodeModelBusy,
			"The model %s is answering requests, so %s cannot take its place now; try again when it is idle.", old.row.ID, row.ID)
	}
	done := make(chan struct{})
	a.loaded, a.loading = nil, done
	a.mu.Unlock()

	// The load goes on if this client leaves: the next one will want it.
	m, err := a.replace(context.WithoutCancel(ctx), old, row)

	a.mu.Lock()
	a.loading = nil
	close(done)
	if a.failure = ""; err != nil {
		a.failure = err.Error()
	} else {
		m.users++
		a.loaded = m
	}
	a.mu.Unlock()
	return m, err
}

// replace frees the old model, if any, before it loads the new one: both may
// not fit.
func (a *App) replace(ctx context.Context, old *loaded, row storage.Model) (*loaded, error) {
	if old != nil {
		if err := old.close(); err != nil {
			return nil, fmt.Errorf("unload %s: %w", old.row.ID, err)
		}
	}
	start := time.Now()
	opts := models.Options{Dtype: models.DtypePolicy(a.opts.Dtype)}
	var bundle *models.Bundle
	var err error
	if row.Source == storage.SourcePocket {
		bundle, err = models.LoadPocket(ctx, a.thread, opts)
	} else {
		bundle, err = models.Load(ctx, a.thread, row.Path, opts)
	}
	if err != nil {
		return nil, &control.Error{Code: control.CodeModelInvalid, Message: err.Error(), Err: err}
	}
	if bundle.TemplateErr != nil {
		a.log.Info("no chat for this model", "model", row.ID, "reason", bundle.TemplateErr)
	}
	took := time.Since(start)
	a.log.Info("model loaded", "model", row.ID, "ms", took.Milliseconds())
	return &loaded{
		app: a, row: row, bundle: bundle, took: took,
		engine: engine.New(a.thread, bundle.Model, bundle.Tokenizer, engine.Options{
			ContextLength: a.opts.ContextLength, Logger: a.log,
		}),
	}, nil
}

// Load implements server.Admin.
func (a *App) Load(ctx context.Context, id string) error {
	row, err := a.db.Model(ctx, id)
	if err != nil {
		return a.notRegistered(err, id)
	}
	m, err := a.acquire(ctx, row)
	if err != nil {
		return err
	}
	m.Release()
	a.mu.Lock()
	a.choice = id
	a.mu.Unlock()
	return a.db.SetSetting(ctx, settingChoice, id)
}

// Unload implements server.Admin.
func (a *App) Unload(context.Context) error {
	a.mu.Lock()
	m := a.loaded
	if m != nil && m.users > 0 {
		a.mu.Unlock()
		return control.Errorf(control.CodeModelBusy, "The model %s is answering requests; try again when it is idle.", m.row.ID)
	}
	a.loaded = nil
	a.mu.Unlock()
	if m == nil {
		return nil
	}
	return m.close()
}
