package pool

import (
	"context"
	"slices"
	"sync/atomic"
)

// A view is what is in memory. The owner publishes a copy for readers, who change nothing in it.
type view struct {
	models    []*Model
	current   string // id of the current model, in memory or not
	failure   string // why it could not be loaded
	loading   *loading
	switching bool          // another model may be current once done is closed
	done      chan struct{} // closed at the end of the change in progress, or of the next one
}

// A loading is a model that is being loaded.
type loading struct {
	id          string
	done, total atomic.Int64 // bytes of weights
}

// look returns the present view.
func (p *Pool) look() view { return *p.published.Load() }

// find returns the model of an id, or nil.
func find(models []*Model, id string) *Model {
	i := slices.IndexFunc(models, func(m *Model) bool { return m.row.ID == id })
	if i < 0 {
		return nil
	}
	return models[i]
}

// model returns the current model if it is in memory, else the model that was used last, or nil.
func (v view) model() *Model {
	if m := find(v.models, v.current); m != nil {
		return m
	}
	var last *Model
	for _, m := range v.models {
		if last == nil || m.users.now().used.After(last.users.now().used) {
			last = m
		}
	}
	return last
}

// awaitCurrent returns the id of the current model, after any switch in progress. Error: the cause of
// ctx.
func (p *Pool) awaitCurrent(ctx context.Context) (string, error) {
	for {
		v := p.look()
		if !v.switching {
			return v.current, nil
		}
		select {
		case <-v.done:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// InMemory reports whether the model of an id is in memory.
func (p *Pool) InMemory(id string) bool { return find(p.look().models, id) != nil }

// Choice returns the id of the current model, in memory or not.
func (p *Pool) Choice() string { return p.look().current }

// Users returns how many requests hold a model.
func (p *Pool) Users() (n int) {
	for _, m := range p.look().models {
		n += m.users.now().holding
	}
	return n
}

// WritesCheckpoints reports whether a model has checkpoints that are not on disk yet.
func (p *Pool) WritesCheckpoints() bool {
	return slices.ContainsFunc(p.look().models,
		func(m *Model) bool { return m.store != nil && m.store.Busy() })
}
