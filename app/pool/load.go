package pool

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

// A loading is a model that is being loaded.
type loading struct {
	id          string
	needs       demand       // zero until it is known; guarded by Pool.mu
	done, total atomic.Int64 // bytes of weights
}

func (c *loading) describe() *control.Loading {
	return &control.Loading{ID: c.id, Done: c.done.Load(), Total: c.total.Load()}
}

// A loadRequest says for whom a model is taken or loaded.
type loadRequest struct {
	users  int  // requests that hold it from then on; 0 loads it ahead of requests, so that another model may still replace it
	choice bool // errChanged if the model is no longer the choice
}

// getOrLoad returns the model if it is in memory, and loads it otherwise: beside others, or in
// place of models that leave for it. These come back if the load fails. Error: errChanged.
func (p *Pool) getOrLoad(ctx context.Context, row storage.Model,
	b loadRequest) (m *Model, err error) {
	if m, err = p.lookup(ctx, row, b); m != nil || err != nil {
		return m, err
	}
	chosen := row.ID == p.choice
	progress, end := &loading{id: row.ID}, p.begin(false)
	p.loading = progress
	p.mu.Unlock()
	// This is deferred, so that other changes go on even after a panic.
	var back []*Model
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.loading = nil
		p.add(back...)
		if m != nil {
			m.users, m.used = b.users, time.Now()
			p.add(m)
		}
		left := err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
		if row.ID == p.choice && err != control.ErrDraining && err != errChanged && !left {
			if p.failure = ""; err != nil {
				p.failure = err.Error()
			}
		}
		end()
	}()
	// The row may be old after a wait. No row is removed from here on: a removal is a change.
	if now, err := p.db.Model(ctx, row.ID); err != nil || !sameFiles(now, row) {
		return nil, errChanged
	}
	if err := p.checkMayLoad(row, chosen); err != nil {
		return nil, err
	}
	if row.Source != storage.SourcePocket {
		if _, err := models.Inspect(row.Path); err != nil {
			return nil, InvalidModel(err)
		}
	}
	need, gone, err := p.makeRoom(ctx, row, arrival{isChoice: chosen})
	if err != nil {
		return nil, err
	}
	// The load goes on if this client leaves: the next client will want the model.
	m, err = p.load(row, need.context, progress)
	switch {
	case err == nil:
		p.keepChoice(ctx, row.ID)
	case p.life.Err() != nil:
		return nil, control.ErrDraining
	default:
		// The earlier files of the same model are not loaded again: no name leads to them.
		back = p.restore(slices.DeleteFunc(gone, func(m *Model) bool { return m.row.ID == row.ID }))
	}
	return m, err
}

// keepChoice stores that a model is the choice, if it is. It is called once the model is loaded: a
// choice that cannot be loaded must not come back at the next start.
func (p *Pool) keepChoice(ctx context.Context, id string) {
	p.mu.Lock()
	chosen := id == p.choice
	p.mu.Unlock()
	if !chosen {
		return
	}
	// This is noted also for a client that leaves at this moment.
	if err := p.db.SetSetting(context.WithoutCancel(ctx), settingChoice, id); err != nil {
		p.log.Warn("noting the choice", "model", id, "error", err)
	}
}

// load loads a model with a context of so many tokens. The caller has made room for it.
func (p *Pool) load(row storage.Model, length int, progress *loading) (*Model, error) {
	start, lent := time.Now(), p.thread.Lent()
	weights := WeightsKey(row.Path)
	opts := models.Options{Dtype: models.DtypePolicy(p.opts.Dtype), Progress: func(done, total int64) {
		progress.done.Store(done)
		progress.total.Store(total)
	}}
	var bundle *models.Bundle
	var err error
	if row.Source == storage.SourcePocket {
		bundle, err = models.LoadPocket(p.life, p.thread, opts)
	} else {
		bundle, err = models.Load(p.life, p.thread, row.Path, opts)
	}
	if err != nil {
		return nil, InvalidModel(err)
	}
	if bundle.TemplateErr != nil {
		p.log.Info("no chat for this model", "model", row.ID, "reason", bundle.TemplateErr)
	}
	if asked, has := p.opts.ContextLength, bundle.Info.ContextLength; asked > has {
		p.log.Warn("the model's context is shorter than the one asked for", "model", row.ID,
			"asked", asked, "served", has)
	}
	d, reason, err := p.draftFor(p.life, row, bundle)
	if err != nil {
		return nil, errors.Join(err, bundle.Close())
	}
	took := time.Since(start) - (p.thread.Lent() - lent)
	if err := p.db.TimeModel(p.life, row.ID, took); err != nil {
		p.log.Warn("noting how long a model took to load", "model", row.ID, "error", err)
	}
	m := &Model{pool: p, row: row, weights: weights, bundle: bundle, context: length, took: took, used: time.Now(), longest: longestToken(bundle.Tokenizer)}
	if m.own, err = p.modelSettings(p.life, row.ID); err != nil {
		p.log.Warn("the settings of a model cannot be read", "model", row.ID, "error", err)
	}
	m.detectDialect()
	p.log.Info("model loaded", "model", row.ID, "ms", took.Milliseconds(),
		"dialect", m.dialect.Name())
	m.startDrafting(d, reason)
	return m, nil
}

// Preload loads the choice ahead of the first request.
func (p *Pool) Preload(ctx context.Context) error {
	_, _, err := p.acquire(ctx, control.Alias, 0)
	return err
}
