package pool

import (
	"context"
)

// Load makes a model the choice and loads it. It implements server.Residents.
//
// Requests for the choice before it end first, and new requests wait for the new choice. If that
// cannot be loaded, the choice before it goes on. Other models stay if there is memory for them. A
// model in memory is loaded again if its weights on disk have changed.
func (p *Pool) Load(ctx context.Context, id string) error {
	row, err := p.db.Models.Get(ctx, id)
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
		if row, err = p.db.Models.Get(ctx, id); err != nil {
			return NotRegistered(err, id)
		}
	}
}
