package pool

import (
	"context"
	"fmt"
	"slices"

	"tandem/app/control"
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
	if _, err := p.demand(ctx, row); err != nil { // before any request has to wait
		if ctx.Err() == nil { // a client that left says nothing about the model
			p.mu.Lock()
			defer p.mu.Unlock()
			p.noteFailure(id, err)
		}
		return err
	}
	for {
		_, err = p.getOrLoad(ctx, loadRequest{row: row, choose: true})
		if err == nil {
			return p.db.SetSetting(context.WithoutCancel(ctx), settingChoice, id)
		}
		if err != errChanged {
			return err
		}
		if row, err = p.db.Model(ctx, id); err != nil {
			return NotRegistered(err, id)
		}
	}
}

// stillServing returns the error of a switch. It names the choice before it, if that goes on: gone
// left for the new model, and back came back.
func stillServing(old *Model, gone, back []*Model, id string, err error) error {
	cameBack := func(m *Model) bool { return m.row.ID == old.row.ID }
	if old == nil || slices.Contains(gone, old) && !slices.ContainsFunc(back, cameBack) {
		return err
	}
	return &control.Error{Code: control.CodeModelInvalid, Err: err,
		Message: fmt.Sprintf("%s cannot be loaded, and %s goes on: %v", id, old.row.ID, err)}
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
