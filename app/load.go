package app

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"tandem/app/control"
	"tandem/models"
	"tandem/storage"
)

// A coming model is being loaded.
type coming struct {
	id          string
	needs       demand       // zero until it is known; guarded by app.mu
	done, total atomic.Int64 // bytes of weights
}

func (c *coming) describe() *control.Loading {
	return &control.Loading{ID: c.id, Done: c.done.Load(), Total: c.total.Load()}
}

// bringing says for whom a model is brought.
type bringing struct {
	users  int  // requests that hold it from then on: one, or none if it is loaded ahead of them, so that it is not in the way of another
	choice bool // only if it is the choice
}

// bring takes the model in memory, or loads it: beside others, or in place of those
// that have to go for it, which come back if it cannot be loaded. Error: errAnew.
func (a *App) bring(ctx context.Context, row storage.Model, b bringing) (m *loaded, err error) {
	if m, err = a.take(ctx, row, b); m != nil || err != nil {
		return m, err
	}
	chosen := row.ID == a.choice
	progress, end := &coming{id: row.ID}, a.begin(false)
	a.coming = progress
	a.mu.Unlock()
	// Deferred, so that not even a panic leaves the others waiting.
	var back []*loaded
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.coming = nil
		a.enter(back...)
		if m != nil {
			m.users, m.used = b.users, time.Now()
			a.enter(m)
		}
		left := err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
		if row.ID == a.choice && err != control.ErrDraining && err != errAnew && !left {
			if a.failure = ""; err != nil {
				a.failure = err.Error()
			}
		}
		end()
	}()
	// Who waited may have an old row. From here on none is removed: that is a change.
	if now, err := a.db.Model(ctx, row.ID); err != nil || !sameFiles(now, row) {
		return nil, errAnew
	}
	if err := a.mayCome(row, chosen); err != nil {
		return nil, err
	}
	if row.Source != storage.SourcePocket {
		if _, err := models.Inspect(row.Path); err != nil {
			return nil, invalidModel(err)
		}
	}
	need, gone, err := a.makeRoom(ctx, row, arrival{wins: chosen})
	if err != nil {
		return nil, err
	}
	// The load goes on if this client leaves: the next one will want it.
	m, err = a.load(row, need.context, progress)
	switch {
	case err == nil:
		a.keepChoice(ctx, row.ID)
	case a.life.Err() != nil:
		return nil, control.ErrDraining
	default:
		// What it was before is asked for by nobody.
		back = a.restore(slices.DeleteFunc(gone, func(m *loaded) bool { return m.row.ID == row.ID }))
	}
	return m, err
}

// keepChoice stores that a model is the choice, if it is, now that it can be
// loaded: one that cannot must not come back with the next start.
func (a *App) keepChoice(ctx context.Context, id string) {
	a.mu.Lock()
	chosen := id == a.choice
	a.mu.Unlock()
	if !chosen {
		return
	}
	// Also for a client that leaves at this moment.
	if err := a.db.SetSetting(context.WithoutCancel(ctx), settingChoice, id); err != nil {
		a.log.Warn("noting the choice", "model", id, "error", err)
	}
}

// load loads a model, for which there is room with a context of so many tokens.
func (a *App) load(row storage.Model, length int, progress *coming) (*loaded, error) {
	start, lent := time.Now(), a.thread.Lent()
	weights := weightsKey(row.Path)
	opts := models.Options{Dtype: models.DtypePolicy(a.opts.Dtype), Progress: func(done, total int64) {
		progress.done.Store(done)
		progress.total.Store(total)
	}}
	var bundle *models.Bundle
	var err error
	if row.Source == storage.SourcePocket {
		bundle, err = models.LoadPocket(a.life, a.thread, opts)
	} else {
		bundle, err = models.Load(a.life, a.thread, row.Path, opts)
	}
	if err != nil {
		return nil, invalidModel(err)
	}
	if bundle.TemplateErr != nil {
		a.log.Info("no chat for this model", "model", row.ID, "reason", bundle.TemplateErr)
	}
	if asked, has := a.opts.ContextLength, bundle.Info.ContextLength; asked > has {
		a.log.Warn("the model's context is shorter than the one asked for", "model", row.ID, "asked", asked, "served", has)
	}
	d, reason, err := a.draftFor(a.life, row, bundle)
	if err != nil {
		return nil, errors.Join(err, bundle.Close())
	}
	took := time.Since(start) - (a.thread.Lent() - lent)
	if err := a.db.TimeModel(a.life, row.ID, took); err != nil {
		a.log.Warn("noting how long a model took to load", "model", row.ID, "error", err)
	}
	m := &loaded{app: a, row: row, weights: weights, bundle: bundle, context: length, took: took, used: time.Now(), longest: longestToken(bundle.Tokenizer)}
	if m.own, err = a.modelSettings(a.life, row.ID); err != nil {
		a.log.Warn("what is set for a model cannot be read", "model", row.ID, "error", err)
	}
	m.listen()
	a.log.Info("model loaded", "model", row.ID, "ms", took.Milliseconds(), "dialect", m.dialect.Name())
	m.startDrafting(d, reason)
	return m, nil
}

// preload loads the choice ahead of the first request.
func (a *App) preload(ctx context.Context) error {
	_, _, err := a.acquire(ctx, control.Alias, 0)
	return err
}
