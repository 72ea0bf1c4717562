package pool

import (
	"context"
	"errors"
	"slices"
	"time"

	"tandem/app/control"
	"tandem/models"
	"tandem/storage"
)

// A loadRequest says which model is to be in memory, and for whom.
type loadRequest struct {
	row storage.Model
	// requests that hold it from then on; 0 loads it ahead of requests, so that another model may
	// still replace it
	users  int
	alias  bool // errChanged if the model is no longer the choice
	choose bool // a person chose it: it takes the place of the choice
}

// errChanged says that the caller's row may be old: the load has waited, another model was chosen,
// or the row was renewed or removed. The caller reads the row again.
var errChanged = errors.New("what the name stands for has changed")

// sameFiles reports whether two rows stand for the same files. A pull may have renewed the files of
// an id.
func sameFiles(a, b storage.Model) bool {
	return a.ID == b.ID && a.Path == b.Path && a.Revision == b.Revision
}

// getOrLoad returns the model if it is in memory, and loads it otherwise: beside others, or in
// place of models that leave for it. These come back if the load fails. Error: errChanged.
func (p *Pool) getOrLoad(ctx context.Context, r loadRequest) (m *Model, err error) {
	if m, err = p.lookup(ctx, r); m != nil || err != nil {
		return m, err
	}
	end := p.begin(r.choose)
	a := arrival{isChoice: r.choose || r.row.ID == p.choice}
	if r.choose {
		a.replaces = p.inMemory(p.choice)
	}
	progress := &loading{id: r.row.ID}
	p.loading = progress
	p.mu.Unlock()
	var back []*Model
	// This is deferred, so that other changes go on even after a panic.
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.loading = nil
		p.add(back...)
		p.finishLoad(ctx, r, m, err)
		end()
	}()
	// The row may be old. No row is removed from here on: a removal is a change.
	now, err := p.db.Models.Get(ctx, r.row.ID)
	if err != nil || !sameFiles(now, r.row) {
		return nil, errChanged
	}
	r.row = now // a folder that was registered again may have another context
	if err := p.checkMayLoad(r.row, a.isChoice); err != nil {
		return nil, err
	}
	need, gone, err := p.makeRoom(ctx, r.row, a)
	if err != nil {
		return nil, err
	}
	// The load goes on if this client leaves: the next client will want the model.
	m, err = p.load(r.row, need, progress)
	switch {
	case err == nil && !r.choose: // Load notes its choice by itself
		p.keepChoice(ctx, r.row.ID)
	case err == nil:
	case p.life.Err() != nil:
		err = control.ErrDraining
	case r.choose:
		back = p.restore(gone)
		err = switchError(a.replaces, gone, back, r.row.ID, err)
	default:
		// The earlier files of the same model are not loaded again: no name leads to them.
		back = p.restore(slices.DeleteFunc(gone,
			func(m *Model) bool { return m.row.ID == r.row.ID }))
	}
	return m, err
}

// lookup returns the model of a row if it is in memory, and counts its users. m is nil if the model
// is not in memory and no change is in progress: then the caller holds p.mu, and the row may be
// old. Error: errChanged, also after it has waited.
//
// A model that a person chooses has to have the weights that are on disk now.
func (p *Pool) lookup(ctx context.Context, r loadRequest) (*Model, error) {
	weights := ""
	if r.choose { // before the lock, since a folder may take its time to answer
		weights = models.WeightsKey(r.row.Path)
	}
	p.mu.Lock()
	m := p.inMemory(r.row.ID)
	switch {
	case p.draining:
		p.mu.Unlock()
		return nil, control.ErrDraining
	case r.alias && p.choice != r.row.ID:
		p.mu.Unlock()
		return nil, errChanged
	case r.choose && p.changing != nil:
	case m != nil && !m.leaving && sameFiles(m.row, r.row) &&
		(!r.choose || m.weights == weights):
		m.addUsers(r.users)
		if r.choose {
			p.choice, p.failure = r.row.ID, ""
		}
		p.mu.Unlock()
		return m, nil
	case p.changing == nil:
		return nil, nil
	}
	if err := p.waitForChange(ctx); err != nil {
		return nil, err
	}
	p.mu.Unlock()
	return nil, errChanged
}

// finishLoad puts a loaded model into the list, or notes for the state why the choice could not be
// loaded. It notes nothing about a client that left, nor about the program's end. The caller holds
// p.mu.
func (p *Pool) finishLoad(ctx context.Context, r loadRequest, m *Model, err error) {
	left := ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	switch {
	case err == nil && m != nil:
		m.users, m.used = r.users, time.Now()
		p.add(m)
		if r.choose {
			p.choice = r.row.ID
		}
		if p.choice == r.row.ID {
			p.failure = ""
		}
	case err != nil && err != errChanged && !left && p.life.Err() == nil:
		p.noteFailure(r.row.ID, err)
	}
}

// keepChoice stores that a model is the choice, if it is. It is called once the model is loaded: a
// choice that cannot be loaded must not come back at the next start. What the next start would
// choose anyway is not stored: a pocket model that only takes the starter's place is no choice.
func (p *Pool) keepChoice(ctx context.Context, id string) {
	if p.opts.Trial {
		return
	}
	p.mu.Lock()
	chosen := id == p.choice
	p.mu.Unlock()
	if !chosen {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if last, err := LastChoice(ctx, p.db); err == nil && last == id {
		return
	}
	// This is noted also for a client that leaves at this moment.
	if err := p.db.SetSetting(ctx, settingChoice, id); err != nil {
		p.log.Warn("noting the choice", "model", id, "error", err)
	}
}

// load loads a model with the context and the form of weights that need tells. The caller has made
// room for it.
func (p *Pool) load(row storage.Model, need demand, progress *loading) (*Model, error) {
	start, lent := time.Now(), p.thread.Lent()
	weights := models.WeightsKey(row.Path)
	opts := need.options()
	opts.Lane = p.lane
	opts.Progress = func(done, total int64) {
		progress.done.Store(done)
		progress.total.Store(total)
	}
	var bundle *models.Bundle
	var err error
	if row.Source == storage.SourcePocket {
		bundle, err = models.LoadPocket(p.life, p.thread, opts)
	} else {
		bundle, err = models.Load(p.life, p.thread, row.Path, opts)
	}
	if err != nil {
		return nil, Unusable(row, err)
	}
	if err := bundle.Chat.Err(); err != nil {
		p.log.Warn("the model's chat template cannot be used", "model", row.ID, "reason", err)
	}
	if why := bundle.Chat.Replaced; why != nil {
		p.log.Warn("the chat template of the model's family stands in place of its own", "model",
			row.ID, "reason", why)
	}
	if asked, has := p.opts.ContextLength, bundle.Info.ContextLength; asked > has {
		p.log.Warn("the model's context is shorter than the one asked for", "model", row.ID,
			"asked", asked, "served", has)
	}
	for _, ignored := range bundle.Defaults.Ignored {
		p.log.Warn("a default of the model is ignored", "model", row.ID, "reason", ignored)
	}
	m := &Model{
		pool: p, row: row, weights: weights, bundle: bundle, context: need.context,
		form: need.form, used: time.Now(),
	}
	d, reason, err := p.openDrafterIfUsable(p.life, m)
	if err != nil {
		return nil, errors.Join(err, bundle.Close())
	}
	if m.bounded, err = p.openBounded(p.life, m, d, reason); err != nil {
		return nil, errors.Join(Unusable(row, err), d.Close(), bundle.Close())
	}
	took := time.Since(start) - (p.thread.Lent() - lent)
	if err := p.db.Models.SetLoadTime(p.life, row.ID, took); err != nil {
		p.log.Warn("noting how long a model took to load", "model", row.ID, "error", err)
	}
	m.took = took
	if m.own, err = p.modelSettings(p.life, row.ID); err != nil {
		p.log.Warn("the settings of a model cannot be read", "model", row.ID, "error", err)
	}
	m.readTokenizer(p.life)
	p.log.Info("model loaded", "model", row.ID, "ms", took.Milliseconds(), "held", m.Held(),
		"dialect", m.dialect.Name())
	if what := bundle.Info.LeftOut; what != "" {
		p.log.Info("a model reads text alone", "model", row.ID, "left out", what)
	}
	m.startEngine(d, reason)
	return m, nil
}

// Preload loads the choice ahead of the first request.
func (p *Pool) Preload(ctx context.Context) error {
	_, _, err := p.acquire(ctx, control.Alias, 0)
	return err
}
