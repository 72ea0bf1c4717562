package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tandem/app/control"
	"tandem/models"
	"tandem/storage"
)

// Load makes a model the current one and loads it. It implements server.Residents.
//
// Requests that use the previous current model finish first, and new requests wait for the new one. If
// that cannot be loaded, the previous model keeps serving. Other models stay in memory if there is room
// for them. A model in memory is loaded again if its weights on disk have changed.
func (p *Pool) Load(ctx context.Context, id string) error {
	if err := p.fitsAlone(ctx, id); err != nil { // before any request has to wait
		if p.Choice() == id {
			_ = p.change(ctx, func(o *owner) error { o.noteFailure(ctx, id, err); return nil })
		}
		return err
	}
	return p.change(ctx, func(o *owner) error {
		if err := o.makeCurrent(ctx, id); err != nil {
			return err
		}
		return o.db.SetSetting(context.WithoutCancel(ctx), settingChoice, id)
	})
}

// fitsAlone refuses a registered model that would not fit if no other were in memory.
func (p *Pool) fitsAlone(ctx context.Context, id string) error {
	row, err := p.db.Models.Get(ctx, id)
	if err != nil {
		return NotInstalled(err, id)
	}
	_, _, err = p.need(ctx, row)
	return err
}

// makeCurrent makes a model the current one.
func (o *owner) makeCurrent(ctx context.Context, id string) error {
	row, err := o.db.Models.Get(ctx, id)
	if err != nil {
		return NotInstalled(err, id)
	}
	if m := find(o.models, id); m != nil && sameFiles(m.row, row) &&
		m.weights == models.WeightsKey(row.Path) {
		m.users.touch()
		o.current, o.failure = id, ""
		return nil
	}
	_, err = o.load(ctx, row, true)
	return err
}

// load loads a model, beside others or in place of models that are unloaded for it. These come back if
// the load fails. asCurrent says that it becomes the current model.
func (o *owner) load(ctx context.Context, row storage.Model, asCurrent bool) (m *Model, err error) {
	defer func() {
		if err != nil {
			o.noteFailure(ctx, row.ID, err)
		}
	}()
	current := asCurrent || row.ID == o.current
	if err := o.state().Permit(row.ID, current); err != nil {
		return nil, err
	}
	held, size, err := o.sizeOf(o.pool.life, row)
	if err != nil {
		return nil, err
	}
	w := want(row, size)
	w.Current = current
	var replaced *Model // by the next current model
	if asCurrent {
		if replaced = find(o.models, o.current); replaced != nil {
			w.Replaces = o.current
		}
	}
	need, unloaded, err := o.planLoad(w)
	if err != nil {
		return nil, err
	}
	progress := o.announce(row.ID)
	if asCurrent {
		o.holdForSwitch()
	}
	if err := o.makeRoom(ctx, w, need, unloaded); err != nil {
		return nil, err
	}
	// From here the load does not depend on ctx: the next client will want the model.
	m, err = o.pool.open(row, held.format, need.Context, progress)
	switch {
	case err == nil:
		o.finishLoad(ctx, m, asCurrent)
		return m, nil
	case o.pool.life.Err() != nil:
		return nil, control.ErrDraining
	}
	o.restore(slices.DeleteFunc(unloaded, // but not the old files of the same id: nothing can reach them
		func(m *Model) bool { return m.row.ID == row.ID && !asCurrent }))
	if replaced != nil && find(o.models, replaced.row.ID) != nil {
		err = &control.Error{Code: control.CodeModelInvalid, Err: err,
			Message: fmt.Sprintf("%s cannot be loaded, and %s goes on: %v", row.ID, replaced.row.ID, err)}
	}
	return nil, err
}

// finishLoad adds a model to the list of those in memory.
func (o *owner) finishLoad(ctx context.Context, m *Model, asCurrent bool) {
	if asCurrent {
		o.current = m.row.ID
	}
	if o.current == m.row.ID {
		o.failure = ""
	}
	o.add(m)
	if !asCurrent { // Load notes its choice by itself
		o.keepChoice(ctx, m.row.ID)
	}
}

// noteFailure keeps for the state why the current model cannot be loaded, unless the previous version is
// still in memory. A client that left and the program's end are not recorded.
func (o *owner) noteFailure(ctx context.Context, id string, err error) {
	left := ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if !left && o.pool.life.Err() == nil && find(o.models, id) == nil && o.current == id {
		o.failure = err.Error()
	}
}

// keepChoice stores id as the current model, if it is. It is called once the model is loaded: the next
// start must not try one that cannot be loaded. What the next start would choose anyway, such as the
// pocket model in place of a missing starter, is not stored.
func (o *owner) keepChoice(ctx context.Context, id string) {
	if o.opts.Trial || id != o.current {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if last, err := LastChoice(ctx, o.db); err == nil && last == id {
		return
	}
	// This is noted also for a client that leaves at this moment.
	if err := o.db.SetSetting(ctx, settingChoice, id); err != nil {
		o.pool.log.Warn("noting the choice", "model", id, "error", err)
	}
}

// open loads a model in a format and with a context in tokens, 0 for the model's own. The caller has
// reserved the memory.
func (p *Pool) open(row storage.Model, f format, context int, progress *loading) (*Model, error) {
	start, lent := time.Now(), p.thread.Lent()
	weights := models.WeightsKey(row.Path)
	opts := f.options()
	opts.Lane = p.lane
	opts.Progress = func(done, total int64) {
		progress.done.Store(done)
		progress.total.Store(total)
	}
	files, err := p.filesOf(row)
	if err != nil {
		return nil, Unusable(row, err)
	}
	defer p.opened.DropLarge() // the loaded model has what it needs of it
	bundle, err := files.Load(p.life, p.thread, opts)
	if err != nil {
		return nil, Unusable(row, err)
	}
	if err := bundle.Chat.Err(); err != nil {
		p.log.Warn("the model's chat template cannot be used", "model", row.ID, "reason", err)
	}
	if why := bundle.Chat.FallbackReason; why != nil {
		p.log.Warn("the chat template of the model's family is used in place of its own", "model",
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
		pool: p, row: row, weights: weights, bundle: bundle, context: context, format: f,
		users: &users{uses: &p.uses, usage: usage{used: time.Now()}},
	}
	d, reason, err := p.openDrafterIfUsable(p.life, m)
	if err != nil {
		return nil, errors.Join(err, bundle.Close())
	}
	if err := m.openRestored(p.life, d, reason); err != nil {
		return nil, errors.Join(Unusable(row, err), d.Close(), bundle.Close())
	}
	loadTime := time.Since(start) - (p.thread.Lent() - lent)
	if err := p.db.Models.SetLoadTime(p.life, row.ID, loadTime); err != nil {
		p.log.Warn("noting how long a model took to load", "model", row.ID, "error", err)
	}
	m.loadTime = loadTime
	if err := p.perModel.Read(p.life, row.ID); err != nil {
		p.log.Warn("the settings of a model cannot be read", "model", row.ID, "error", err)
	}
	m.readTokenizer(p.life)
	p.log.Info("model loaded", "model", row.ID, "ms", loadTime.Milliseconds(), "dialect", m.dialect.Name())
	if what := bundle.Info.LeftOut; what != "" {
		p.log.Info("a model reads text alone", "model", row.ID, "left out", what)
	}
	m.startEngine(d, reason)
	return m, nil
}
